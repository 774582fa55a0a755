// A tensor's bytes in a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace troupe {

// A part of a tensor: bytes [offset, offset + bytes) of `size`.
struct FilePart {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t size = 0;
  bool first = true;  // of the parts written
  bool last = true;
  bool is_padded = true;  // the tensor's buffer ends with a whole page

  bool ends_tensor() const { return offset + bytes == size; }
};

// write_part() and read_part() bypass the page cache (O_DIRECT) if the file system supports it, the
// tensor is page-aligned and has 4096 bytes or more, `offset` is a multiple of 4096, and `bytes` is
// one, too, or the part ends the tensor. Otherwise they use the page cache, and the last part
// written is flushed to the device. A request has at most 8 MiB.
//
// `tensor` points to byte 0 of the tensor. The capacity of a tensor of 4096 bytes or more must be a
// multiple of 4096. Reading the part that ends the tensor may overwrite the rest of the capacity.
//
// Each call opens the file by its path and closes it. Writing the first part creates the file. Both
// block. They throw a run Error that names the directory, the bytes and the cause, for example if
// the directory was removed during the run.
//
// A tensor's file has a name, so SIGKILL leaves it behind. A file without a name (O_TMPFILE) would
// need an open descriptor for as long as the tensor exists, and a process may have few of them
// (ulimit -n).
void write_part(const std::filesystem::path& file, const FilePart& part, const std::byte* tensor);
void read_part(const std::filesystem::path& file, const FilePart& part, std::byte* tensor);

// Makes a write beyond the file size limit of the process fail with an error. Otherwise the signal
// SIGXFSZ would end the process: ignores that, unless the program has a handler for it. Must be
// called before the first write_part().
void ignore_file_size_signal();

}  // namespace troupe
