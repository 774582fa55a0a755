#include "core/network/frame_stream.hpp"

#include <cstring>
#include <new>

#include <poll.h>

namespace troupe {
namespace {

// So few go with their frame, in one packet.
constexpr std::uint64_t copied_bytes_max = 4096;

}  // namespace

void FrameStream::send(const Frame& frame, const std::byte* bytes) {
  Outgoing& outgoing = queue_.emplace_back();
  const std::uint64_t count = frame.header.bytes;
  const bool is_copied = count <= copied_bytes_max;
  outgoing.head.resize(sizeof frame + (is_copied ? count : 0));
  std::memcpy(outgoing.head.data(), &frame, sizeof frame);
  if (!is_copied) {
    outgoing.bytes = bytes;
    outgoing.count = count;
  } else if (count > 0) {
    std::memcpy(outgoing.head.data() + sizeof frame, bytes, count);
  }
  if (queue_.size() == 1) go_on();
}

// What of the first in the queue hasn't been sent.
std::span<const std::byte> FrameStream::rest_of(const Outgoing& outgoing) const {
  const std::size_t head = outgoing.head.size();
  if (sent_ < head) return std::span(outgoing.head).subspan(sent_);
  return std::span(outgoing.bytes, outgoing.count).subspan(sent_ - head);
}

void FrameStream::go_on() {
  using Outcome = Connection::Outcome;
  if (!failure_.empty()) return;
  if (introduction_) {
    const Outcome outcome = introduction_->step();
    wants_write_ = outcome == Outcome::wants_write;
    if (outcome == Outcome::closed || outcome == Outcome::failed) fail(introduction_->failure());
    if (outcome != Outcome::done) return;
    connection_.emplace(introduction_->take_connection());
    introduction_.reset();
  }
  while (!queue_.empty()) {
    const Outgoing& first = queue_.front();
    const Connection::Result result = connection_->write(rest_of(first));
    if (result.outcome == Outcome::closed || result.outcome == Outcome::failed) {
      fail(connection_->failure());
    }
    if (result.outcome != Outcome::done) return;
    sent_ += result.bytes;
    if (sent_ < first.head.size() + first.count) continue;
    queue_.pop_front();
    sent_ = 0;
  }
}

short FrameStream::events() const {
  const bool writes = introduction_ ? wants_write_ : !queue_.empty();
  return static_cast<short>(POLLIN | (writes ? POLLOUT : 0));
}

bool FrameStream::receive(std::uint64_t bytes_max) {
  using Outcome = Connection::Outcome;
  while (connection_ && failure_.empty()) {
    std::span<std::byte> target = std::as_writable_bytes(std::span(&frame_, 1));
    std::uint64_t begin = 0;
    if (received_ >= sizeof frame_) {
      begin = sizeof frame_;
      target = {bytes_.get(), frame_.header.bytes};
    }
    const Connection::Result result = connection_->read(target.subspan(received_ - begin));
    if (result.outcome == Outcome::closed || result.outcome == Outcome::failed) {
      fail(connection_->failure());
    }
    if (result.outcome != Outcome::done) return false;
    received_ += result.bytes;
    if (received_ == sizeof frame_ && !begin_bytes(bytes_max)) return false;
    if (received_ < sizeof frame_ || received_ < sizeof frame_ + frame_.header.bytes) continue;
    received_ = 0;
    return true;
  }
  return false;
}

bool FrameStream::begin_bytes(std::uint64_t bytes_max) {
  if (frame_.header.bytes > bytes_max) {
    fail("it doesn't keep to the protocol");
    return false;
  }
  // Memory is touched only as bytes come.
  bytes_.reset(new (std::nothrow) std::byte[frame_.header.bytes]);
  if (bytes_ == nullptr) fail("there is no memory for what it sends");
  return bytes_ != nullptr;
}

void FrameStream::fail(const std::string& cause) {
  if (failure_.empty()) failure_ = cause;
}

}  // namespace troupe
