#include "apps/troupe/descriptor_stream.hpp"

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace troupe {

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

bool DescriptorBuffer::flush() {
  const char* at = pbase();
  while (error_ == 0 && at < pptr()) {
    const ssize_t written = write(fd_, at, static_cast<std::size_t>(pptr() - at));
    if (written > 0) {
      at += written;
    } else if (written == 0 || errno != EINTR) {
      error_ = written == 0 ? EIO : errno;
    }
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return error_ == 0;
}

}  // namespace troupe
