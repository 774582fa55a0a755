// A file whose bytes are read at any place, or mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>

namespace troupe {

// Open as long as the object lives: if another file takes its name, this one is still read.
// Thread-safe.
class InputFile {
 public:
  // Throws a usage Error, with the file as its place, if there is no such file, if it is not a
  // regular one, or if it can't be read.
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // The size that the file had when it was opened.
  std::uint64_t bytes() const { return bytes_; }
  // Reads out.size() bytes, all of which must be within bytes(). Blocks. Throws a run Error if they
  // can't be read, or if the file was written to since it was opened.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  friend class FileMapping;

  std::filesystem::path path_;
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
  timespec changed_{};  // when it was last written to
};

// A part of a file in memory, loaded page by page when it is read. If another program makes the
// file shorter, reading what it cut off ends this process (SIGBUS).
class FileMapping {
 public:
  // The part must be within file.bytes(); it may be empty. `file` need not outlive the mapping.
  // Throws a run Error if the system refuses the mapping.
  FileMapping(const InputFile& file, std::uint64_t offset, std::uint64_t bytes);
  ~FileMapping();
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void* start_ = nullptr;  // of the page that `bytes_` begins in; null: nothing is mapped
  std::size_t length_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace troupe
