// Frames over a Connection: what a TlsWire sends and receives.
#pragma once

#include "core/network/connection.hpp"
#include "core/network/introduction.hpp"
#include "core/network/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe {

// In the byte order of the processor: nodes are of one kind.
struct Frame {
  enum class Kind : std::uint32_t {
    hello = 1,    // the first one; bytes: the address of the receiver's Wire, \n, the sender's
    chunk,        // bytes: those of the chunk
    acknowledge,  // chunk `number` was taken or dropped
  };
  Kind kind = Kind::hello;
  std::uint32_t number = 0;  // of the chunk, on its connection
  ChunkHeader header = {};   // header.bytes follow
};
static_assert(std::is_trivially_copyable_v<Frame>);

// For one thread; no function blocks. Begins with an Introduction, unless there has been one. Once
// it has failed, it sends and receives nothing.
class FrameStream {
 public:
  explicit FrameStream(Introduction introduction) : introduction_(std::move(introduction)) {}
  explicit FrameStream(Connection connection) : connection_(std::move(connection)) {}

  // `bytes`, of which there are frame.header.bytes, must stay until the frame has been sent or the
  // stream is gone; a few are copied.
  void send(const Frame& frame, const std::byte* bytes);
  // The next frame that has come whole; none if more must come first. Fails if more than
  // `bytes_max` follow a frame.
  bool receive(std::uint64_t bytes_max);
  const Frame& frame() const { return frame_; }  // that was received
  std::span<const std::byte> bytes() const { return {bytes_.get(), frame_.header.bytes}; }
  std::unique_ptr<std::byte[]> take_bytes() { return std::move(bytes_); }

  // Goes on with the introduction and with what is to be sent.
  void go_on();
  int socket() const { return introduction_ ? introduction_->socket() : connection_->socket(); }
  short events() const;  // for poll()
  bool is_open() const { return !introduction_; }
  // True if there may be a frame although poll() reports nothing.
  bool has_pending() const { return connection_ && connection_->pending() > 0; }
  // `cause` must not be empty.
  void fail(const std::string& cause);
  const std::string& failure() const { return failure_; }  // empty: none

 private:
  struct Outgoing {
    std::vector<std::byte> head;  // the frame, and its bytes if they are few
    const std::byte* bytes = nullptr;
    std::size_t count = 0;
  };

  std::span<const std::byte> rest_of(const Outgoing& outgoing) const;
  bool begin_bytes(std::uint64_t bytes_max);

  std::optional<Introduction> introduction_;  // until it is over
  std::optional<Connection> connection_;      // then
  bool wants_write_ = false;                  // of the introduction
  std::string failure_;
  std::deque<Outgoing> queue_;
  std::size_t sent_ = 0;  // bytes of the first in the queue
  Frame frame_;
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t received_ = 0;  // of the frame and its bytes
};

}  // namespace troupe
