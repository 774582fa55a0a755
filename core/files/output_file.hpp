// A file that appears only when it is complete.
#pragma once

#include "core/base/temporary_path.hpp"
#include "core/files/descriptor_stream.hpp"

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

namespace troupe {

// The path of the file that writing to `path` changes: without symbolic links. Equal for two paths
// of one file, whether or not the file exists. Two hard links are two files.
std::filesystem::path output_target(const std::filesystem::path& path);

// Whether `path` names an open descriptor of this process, as /dev/stdout and /dev/fd/3 do.
bool names_descriptor(const std::filesystem::path& path);

// An output file of a run. It is opened before the run, so that a path that can't be written is
// refused early, and commit() puts it in place after the run. Character devices, pipes, sockets and
// open descriptors of this process (/dev/stdout, /dev/fd/3) are written directly. For any other
// path, a file without a name is written in the target's folder, or a temporary one with a name if
// the file system has no files without names. commit() renames it to the target. It gets the mode
// of the file that it replaces.
class OutputFile {
 public:
  // Throws a usage Error if `path` can't be written. Doesn't change a file at `path`. If `path` is
  // a named pipe, blocks until it has a reader.
  explicit OutputFile(std::string path);
  ~OutputFile();  // removes the temporary file if commit() didn't rename it
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return *stream_; }
  // Throws a run Error if a write failed. Then a file at `path` is unchanged. `is_durable`: the
  // file outlasts a crash of the host, and so does its name; takes as long as the disk does.
  void commit(bool is_durable = false);

 private:
  int open_beside();   // in the target's folder; returns a descriptor, or -1 with errno
  void choose_name();  // of the temporary file

  std::string path_;                        // as given
  std::filesystem::path target_;            // without symbolic links; empty: written directly
  std::optional<TemporaryPath> temporary_;  // the file being written, if it has a name
  std::optional<DescriptorStream> stream_;
};

}  // namespace troupe
