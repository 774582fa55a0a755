// Frames over a Connection: what a Wire over sockets sends and receives.
#pragma once

#include "core/network/connection.hpp"
#include "core/network/introduction.hpp"
#include "core/network/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
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
    // The first one; bytes: the address of the receiver's Wire, \n, the sender's, \n, a key.
    // `number` is 1 on a connection for parts, which has the key of that for all else; else 0.
    hello = 1,
    welcome,  // the answer on a connection for parts: it may be used
    chunk,    // bytes: those of a small chunk
    offer,    // of a large chunk, `number`
    want,     // the answer: its bytes are to come
    decline,  // or not
    part,     // bytes: header.bytes of chunk `number`, from header.offset of the chunk on
  };
  Kind kind = Kind::hello;
  std::uint32_t number = 0;  // of the chunk: its sender has offered so many before, to this node
  ChunkHeader header = {};

  std::uint64_t following_bytes() const {
    const bool has_bytes = kind == Kind::hello || kind == Kind::chunk || kind == Kind::part;
    return has_bytes ? header.bytes : 0;
  }
};
static_assert(std::is_trivially_copyable_v<Frame>);

// For one thread at a time; no function blocks. Begins with an Introduction, unless there has been
// one. Once it has failed, it sends and receives nothing.
class FrameStream {
 public:
  explicit FrameStream(Introduction introduction) : introduction_(std::move(introduction)) {}
  explicit FrameStream(Connection connection) : connection_(std::move(connection)) {}

  // `bytes`, of which there are frame.following_bytes(), must stay until `done` is among ended();
  // without a `done` they are copied if they can't be sent at once.
  void send(const Frame& frame, const std::byte* bytes, ChunkDone done = {});
  // Sends a chunk in parts, between which whatever else there is to send comes first.
  void send_parts(std::uint32_t number, std::span<const std::byte> bytes, ChunkDone done);
  // The `done` of what has been sent since the last call; of what will never be sent, once it has
  // failed.
  std::vector<ChunkDone> ended();
  std::vector<ChunkDone> unsent();

  // Where the bytes that follow a frame are to go; null: the frame is against the protocol.
  using Place = std::function<std::byte*(const Frame&)>;
  // True if a frame has come whole: frame(). Else more must come first.
  bool receive(const Place& place);
  const Frame& frame() const { return frame_; }

  // Goes on with the introduction and with what is to be sent.
  void go_on();
  // The socket is readable: receive() is to look.
  void is_readable() { may_have_more_ = true; }
  int socket() const { return introduction_ ? introduction_->socket() : connection_->socket(); }
  bool wants_write() const {
    return introduction_ ? wants_write_ : current_ || !queue_.empty() || !parts_.empty();
  }
  bool is_open() const { return !introduction_; }
  // True if there may be a frame although nobody has said that the socket is readable.
  bool has_pending() const {
    return connection_ && (may_have_more_ || end_ - begin_ >= sizeof frame_);
  }
  // True if there may be one although the socket isn't readable.
  bool has_read_ahead() const {
    return connection_ && (connection_->pending() > 0 || end_ - begin_ >= sizeof frame_);
  }
  // True if what has come is whole frames.
  bool is_between_frames() const { return missing_.empty() && begin_ == end_; }
  // `cause` must not be empty.
  void fail(const std::string& cause);
  const std::string& failure() const { return failure_; }  // empty: none

 private:
  struct Outgoing {
    Frame frame;
    std::span<const std::byte> bytes;
    std::vector<std::byte> copy = {};  // of the bytes, if they won't stay
    ChunkDone done = {};
  };
  struct Parts {
    std::uint32_t number = 0;
    std::span<const std::byte> left;
    std::uint64_t offset = 0;
    ChunkDone done;
  };

  bool begin_next();
  void write_all();
  bool read_more(std::span<std::byte> target, std::size_t& count);

  // Others wait for a part, which takes some 100 us at 5 GB/s, and for what is written at once.
  static constexpr std::size_t part_bytes_max = 512 << 10;
  static constexpr std::size_t write_bytes_max = part_bytes_max;
  static constexpr std::size_t buffer_bytes = 16 << 10;

  std::optional<Introduction> introduction_;  // until it is over
  std::optional<Connection> connection_;      // then
  bool wants_write_ = false;                  // of the introduction
  std::string failure_;

  std::deque<Outgoing> queue_;
  std::deque<Parts> parts_;          // after the queue
  std::optional<Outgoing> current_;  // being sent
  std::size_t sent_ = 0;             // of its frame and bytes
  std::vector<ChunkDone> ended_;

  std::unique_ptr<std::byte[]> buffer_{new std::byte[buffer_bytes]};
  std::size_t begin_ = 0;  // of what is in the buffer
  std::size_t end_ = 0;
  Frame frame_;
  std::span<std::byte> missing_;  // of the frame's bytes
  bool may_have_more_ = true;
};

}  // namespace troupe
