// A stream that writes to a file descriptor and remembers why a write failed.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>

namespace troupe {

// std::ofstream reports that a write failed, but not why, and later calls overwrite errno.
class DescriptorBuffer : public std::streambuf {
 public:
  // If `owned`, close() and the destructor close the descriptor.
  explicit DescriptorBuffer(int fd, bool owned);
  ~DescriptorBuffer() override;
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;

  int fd() const { return fd_; }
  // The errno of the first write that failed, or 0.
  int error() const { return error_; }
  // Flushes, and closes an owned descriptor. Some file systems report failed writes only here.
  void close();

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  int sync() override;

 private:
  bool flush();
  void write_all(const char* bytes, std::size_t count);

  int fd_;
  bool owned_;
  int error_ = 0;
  std::array<char, 1 << 16> bytes_;
};

class DescriptorStream : public std::ostream {
 public:
  DescriptorStream(int fd, bool owned) : std::ostream(nullptr), buffer_(fd, owned) {
    rdbuf(&buffer_);
  }
  DescriptorBuffer& buffer() { return buffer_; }

 private:
  DescriptorBuffer buffer_;
};

}  // namespace troupe
