#include "core/network/frame_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace troupe {

void FrameStream::send(const Frame& frame, const std::byte* bytes, ChunkDone done) {
  const bool keeps_bytes = done == nullptr;
  queue_.push_back({.frame = frame,
                    .bytes = {bytes, static_cast<std::size_t>(frame.following_bytes())},
                    .done = std::move(done)});
  if (!current_) write_all();
  if (!keeps_bytes || !failure_.empty()) return;
  // It is the last one, if it hasn't been sent.
  Outgoing* const last = !queue_.empty() ? &queue_.back() : current_ ? &*current_ : nullptr;
  if (last == nullptr || last->done != nullptr || last->bytes.data() != bytes) return;
  last->copy.assign(last->bytes.begin(), last->bytes.end());
  last->bytes = last->copy;
}

void FrameStream::send_parts(std::uint32_t number, std::span<const std::byte> bytes,
                             ChunkDone done) {
  parts_.push_back({.number = number, .left = bytes, .done = std::move(done)});
  if (!current_) write_all();
}

std::vector<ChunkDone> FrameStream::ended() {
  return std::exchange(ended_, {});
}

std::vector<ChunkDone> FrameStream::unsent() {
  std::vector<ChunkDone> all;
  const auto add = [&all](ChunkDone& done) {
    if (done != nullptr) all.push_back(std::move(done));
  };
  if (current_) add(current_->done);
  for (Outgoing& outgoing : queue_) add(outgoing.done);
  for (Parts& parts : parts_) add(parts.done);
  current_.reset();
  queue_.clear();
  parts_.clear();
  return all;
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
  write_all();
}

bool FrameStream::begin_next() {
  sent_ = 0;
  if (!queue_.empty()) {
    current_.emplace(std::move(queue_.front()));
    queue_.pop_front();
    return true;
  }
  if (parts_.empty()) return false;
  Parts& parts = parts_.front();
  const auto part = parts.left.first(std::min(parts.left.size(), part_bytes_max));
  current_.emplace(Outgoing{.frame = {.kind = Frame::Kind::part,
                                      .number = parts.number,
                                      .header = {.offset = parts.offset, .bytes = part.size()}},
                            .bytes = part});
  parts.left = parts.left.subspan(part.size());
  parts.offset += part.size();
  if (parts.left.empty()) {
    current_->done = std::move(parts.done);
    parts_.pop_front();
  }
  return true;
}

void FrameStream::write_all() {
  using Outcome = Connection::Outcome;
  std::size_t written = 0;
  while (connection_ && failure_.empty() && written < write_bytes_max &&
         (current_ || begin_next())) {
    const auto head = std::as_bytes(std::span(&current_->frame, 1));
    const std::size_t head_sent = std::min(sent_, head.size());
    const Connection::Result result =
        connection_->write(head.subspan(head_sent), current_->bytes.subspan(sent_ - head_sent));
    if (result.outcome == Outcome::closed || result.outcome == Outcome::failed) {
      fail(connection_->failure());
    }
    if (result.outcome != Outcome::done) return;
    sent_ += result.bytes;
    written += result.bytes;
    if (sent_ < head.size() + current_->bytes.size()) continue;
    if (current_->done != nullptr) ended_.push_back(std::move(current_->done));
    current_.reset();
  }
}

// False if nothing has come.
bool FrameStream::read_more(std::span<std::byte> target, std::size_t& count) {
  using Outcome = Connection::Outcome;
  if (!may_have_more_) return false;
  const Connection::Result result = connection_->read(target);
  if (result.outcome == Outcome::closed || result.outcome == Outcome::failed) {
    fail(connection_->failure());
  }
  if (result.outcome != Outcome::done) {
    may_have_more_ = false;
    return false;
  }
  count = result.bytes;
  // The socket is empty then. A record of TLS ends where it ends.
  if (count < target.size() && !connection_->uses_tls()) may_have_more_ = false;
  return true;
}

bool FrameStream::receive(const Place& place) {
  while (connection_ && failure_.empty()) {
    const std::size_t in_buffer = end_ - begin_;
    std::size_t count = 0;
    if (!missing_.empty()) {
      if (in_buffer > 0) {
        count = std::min(in_buffer, missing_.size());
        std::memcpy(missing_.data(), buffer_.get() + begin_, count);
        begin_ += count;
      } else if (!read_more(missing_, count)) {
        return false;
      }
      missing_ = missing_.subspan(count);
      if (missing_.empty()) return true;
    } else if (in_buffer >= sizeof frame_) {
      std::memcpy(&frame_, buffer_.get() + begin_, sizeof frame_);
      begin_ += sizeof frame_;
      const auto bytes = static_cast<std::size_t>(frame_.following_bytes());
      if (bytes == 0) return true;
      std::byte* const target = place(frame_);
      if (target == nullptr) {
        fail("it doesn't keep to the protocol");
        return false;
      }
      missing_ = {target, bytes};
    } else {
      std::memmove(buffer_.get(), buffer_.get() + begin_, in_buffer);
      begin_ = 0;
      end_ = in_buffer;
      if (!read_more({buffer_.get() + end_, buffer_bytes - end_}, count)) return false;
      end_ += count;
    }
  }
  return false;
}

void FrameStream::fail(const std::string& cause) {
  if (failure_.empty()) failure_ = cause;
}

}  // namespace troupe
