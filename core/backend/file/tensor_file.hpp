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

  bool ends_tensor() const { return offset + bytes == size; }
};

// Both go past the page cache (O_DIRECT) where the file system allows it, the tensor is 4096 bytes
// or more and lies page-aligned, and the part is aligned: its offset a multiple of 4096, its bytes
// too unless it ends the tensor. Else they are buffered, and the last part written is forced to the
// device. Requests are 8 MiB.
//
// `tensor` is where the tensor's byte 0 lies. Of 4096 bytes or more its capacity must be a multiple
// of 4096, of which a part that ends the tensor may use (read: overwrite) the rest.
//
// Each opens the file by its path and closes it, so that a directory that has gone is noticed: the
// first part makes the file, later ones need it. They block, and throw a run Error that names the
// directory, the bytes and the cause.
void write_part(const std::filesystem::path& file, const FilePart& part, const std::byte* tensor);
void read_part(const std::filesystem::path& file, const FilePart& part, std::byte* tensor);

// Lets a write over the process's file size limit fail with an error rather than with the signal
// SIGXFSZ, which ends a process. Called before the first write_part.
void ignore_file_size_signal();

}  // namespace troupe
