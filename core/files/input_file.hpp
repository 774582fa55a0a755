// A file whose bytes are read at any place, or mapped into memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
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

  // What tells a file from all others, and from what it was before it was last written to.
  struct Version {
    std::uint64_t device = 0;
    std::uint64_t number = 0;  // on the device
    std::uint64_t bytes = 0;
    // When it was last written to, and when that or its name or owner changed, since 1970. Programs
    // can set the first, as those that unpack archives do.
    std::chrono::nanoseconds written{0};
    std::chrono::nanoseconds changed{0};
    friend bool operator==(const Version&, const Version&) = default;
  };

  const std::filesystem::path& path() const { return path_; }
  // What the file was when it was opened.
  const Version& version() const { return version_; }
  std::uint64_t bytes() const { return version_.bytes; }
  // Reads out.size() bytes, all of which must be within bytes(). Blocks. Throws a run Error if they
  // can't be read, or if the file was written to since it was opened.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  // The whole file in memory, always the same mapping, which may outlive the object. Pages are
  // loaded when they are read. If another program changes the file, they may have the new bytes; if
  // it makes the file shorter, reading what it cut off ends this process (SIGBUS). Null if the
  // system refuses the mapping (ulimit -v), and for an empty file.
  std::shared_ptr<const std::byte> mapped() const;
  // Loads a part of mapped() now, so that reading it doesn't wait for the disk. Blocks. Throws what
  // read() throws.
  void load(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  void check_unchanged() const;
  void load_part(std::uint64_t offset, std::uint64_t bytes) const;

  std::filesystem::path path_;
  int fd_ = -1;
  Version version_;
  mutable std::once_flag mapping_once_;
  mutable std::shared_ptr<const std::byte> mapping_;
};

}  // namespace troupe
