#include "core/files/descriptor_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <unistd.h>

namespace troupe {
namespace {

// Larger writes are a little faster, or, on the same file system minutes later, five times slower
// (ext4 of Linux 6.18, 1 GiB at once).
constexpr std::size_t write_bytes_max = 1 << 20;

}  // namespace

DescriptorBuffer::DescriptorBuffer(int fd, bool owned) : fd_(fd), owned_(owned) {
  setp(bytes_.data(), bytes_.data() + bytes_.size());
}

DescriptorBuffer::~DescriptorBuffer() {
  if (owned_ && fd_ >= 0) ::close(fd_);
}

void DescriptorBuffer::close() {
  flush();
  if (!owned_ || fd_ < 0) return;
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR && error_ == 0) error_ = errno;
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type c) {
  if (!flush()) return traits_type::eof();
  if (c == traits_type::eof()) return traits_type::not_eof(c);
  return sputc(traits_type::to_char_type(c));
}

int DescriptorBuffer::sync() {
  return flush() ? 0 : -1;
}

std::streamsize DescriptorBuffer::xsputn(const char* bytes, std::streamsize count) {
  if (count < static_cast<std::streamsize>(bytes_.size())) {
    return std::streambuf::xsputn(bytes, count);
  }
  if (!flush()) return 0;
  write_all(bytes, static_cast<std::size_t>(count));
  return error_ == 0 ? count : 0;
}

bool DescriptorBuffer::flush() {
  write_all(pbase(), static_cast<std::size_t>(pptr() - pbase()));
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_ == 0;
}

void DescriptorBuffer::write_all(const char* bytes, std::size_t count) {
  while (error_ == 0 && count > 0) {
    const ssize_t written = write(fd_, bytes, std::min(count, write_bytes_max));
    if (written > 0) {
      bytes += written;
      count -= static_cast<std::size_t>(written);
    } else if (written == 0 || errno != EINTR) {
      error_ = written == 0 ? EIO : errno;
    }
  }
}

}  // namespace troupe
