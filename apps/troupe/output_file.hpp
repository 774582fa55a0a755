// A file that appears only when it is complete.
#pragma once

#include "apps/troupe/descriptor_stream.hpp"
#include "core/base/temporary_path.hpp"

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

namespace troupe {

// Where writing to `path` leads: the end of its links, with the folder's own links resolved. The
// same for two paths of one file, be it there or not, but for hard links.
std::filesystem::path output_target(const std::filesystem::path& path);

// Whether `path` stands for something that this process already has open: /dev/stdout, /dev/fd/3.
bool names_descriptor(const std::filesystem::path& path);

// Opened (and so known to be writable) before a run, put in place after it. A character device, a
// pipe or a socket is written directly, and so is what this process already has open (/dev/stdout,
// /dev/fd/3), whatever it is. Everything else is written to a file without a name, or beside its
// target where the file system has no such files, and renamed onto it; it gets the mode of the file
// that it replaces.
class OutputFile {
 public:
  // Throws a usage Error where `path` can't be written; touches nothing at `path` itself. Blocks
  // until a named pipe has a reader.
  explicit OutputFile(std::string path);
  ~OutputFile();  // without commit(): leaves nothing behind
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return *stream_; }
  // Throws a run Error where not everything could be written; then `path` is as it was.
  void commit();

 private:
  int open_beside();  // a descriptor, or -1 with errno

  std::string path_;                        // as given
  std::filesystem::path target_;            // where it leads; empty: written directly
  std::filesystem::path name_;              // of the file being written; empty while it has none
  std::optional<TemporaryPath> temporary_;  // that name
  std::optional<DescriptorStream> stream_;
};

}  // namespace troupe
