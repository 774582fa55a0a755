// One node of a test, and what its Wire has told it.
#pragma once

#include "tests/support/temporary_directory.hpp"
#include "tests/unit/network/any_wire.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

// A folder with certificates, which all nodes of the test program share.
inline const std::filesystem::path& certificates() {
  static const TemporaryDirectory folder;
  static const std::filesystem::path path = [] {
    make_certificates(folder.path());
    return folder.path();
  }();
  return path;
}

// The bytes of chunk `item`: they differ from chunk to chunk and from place to place.
inline std::vector<std::byte> bytes_of(std::uint32_t item, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>((item * 31 + i * 7 + i / 256) % 251);
  }
  return bytes;
}

// Counts what was begun and what has ended, and how.
class Ends {
 public:
  ChunkDone expect_one() {
    const std::lock_guard lock(mutex_);
    ++begun_;
    return [this](const std::string& failure) {
      const std::lock_guard inner_lock(mutex_);
      failure.empty() ? ++succeeded_ : ++failed_;
      changed_.notify_all();
    };
  }
  // Waits until everything that was begun has ended.
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60),
                             [&] { return begun_ == succeeded_ + failed_; });
  }
  int succeeded() const {
    const std::lock_guard lock(mutex_);
    return succeeded_;
  }
  int failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int begun_ = 0;
  int succeeded_ = 0;
  int failed_ = 0;
};

class WireEnd final : public WireListener {
 public:
  // What arrived() does with a chunk.
  enum class Answer : std::uint8_t { take, keep, drop };
  struct Chunk {
    ChunkHeader header;
    ArrivedChunk handle = nullptr;
    std::vector<std::byte> bytes;  // of one that was taken
  };

  WireEnd(std::uint32_t node, Transport transport, Answer answer = Answer::take)
      : node_(node), answer_(answer), wire_(*this, transport, certificates()) {}
  ~WireEnd() override { close(); }
  WireEnd(const WireEnd&) = delete;
  WireEnd& operator=(const WireEnd&) = delete;

  Wire& wire() { return *wire_; }
  NodeId node() const { return NodeId{node_}; }
  void close() { wire_.close(); }
  Ends& sends() { return sends_; }
  Ends& takes() { return takes_; }

  // The bytes must stay until all sends have ended.
  void send(NodeId to, std::uint32_t item, const std::vector<std::byte>& bytes) {
    const ChunkHeader header{.item = item, .from = node_, .bytes = bytes.size()};
    wire_->send(to, header, bytes.data(), sends_.expect_one());
  }
  // Of a chunk that was kept.
  void take(Chunk& chunk) {
    chunk.bytes.resize(chunk.header.bytes);
    const ChunkDone done = takes_.expect_one();
    if (wire_->take(chunk.handle, chunk.bytes.data(), done)) done({});
  }

  // Waits until so many chunks have arrived; all of them so far.
  // The list must not be read while more arrive.
  std::deque<Chunk>& wait_for_chunks(std::size_t count) {
    std::unique_lock lock(mutex_);
    BOOST_TEST(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return chunks_.size() >= count; }));
    return chunks_;
  }
  // The one that comes after so many; waits for it.
  void forget_chunk(std::size_t place) {
    wait_for_chunks(place + 1);
    const std::lock_guard lock(mutex_);
    const auto chunk = chunks_.begin() + static_cast<std::ptrdiff_t>(place);
    if (answer_ == Answer::keep) wire_->drop(chunk->handle);
    chunks_.erase(chunk);
  }
  std::size_t arrived_so_far() {
    const std::lock_guard lock(mutex_);
    return chunks_.size();
  }
  // Waits until nodes have been lost so often; all of them so far.
  std::vector<NodeId> wait_for_losses(std::size_t count) {
    std::unique_lock lock(mutex_);
    BOOST_TEST(
        changed_.wait_for(lock, std::chrono::seconds(60), [&] { return lost_.size() >= count; }));
    return lost_;
  }
  std::vector<NodeId> wait_for_loss() { return wait_for_losses(1); }
  std::vector<NodeId> lost_so_far() {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

  void arrived(const ChunkHeader& header, ArrivedChunk handle) override {
    const std::lock_guard lock(mutex_);
    Chunk& chunk = chunks_.emplace_back();
    chunk.header = header;
    chunk.handle = handle;
    if (answer_ == Answer::take) take(chunk);
    if (answer_ == Answer::drop) wire_->drop(handle);
    changed_.notify_all();
  }
  void lost(NodeId node, const std::string&) override {
    const std::lock_guard lock(mutex_);
    lost_.push_back(node);
    changed_.notify_all();
  }

 private:
  const std::uint32_t node_;
  const Answer answer_;
  Ends sends_;
  Ends takes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Chunk> chunks_;
  std::vector<NodeId> lost_;
  AnyWire wire_;
};

// Whether a send of a large chunk can't end before the chunk has been taken. Shared memory always
// copies the first chunks.
inline bool takes_from_sender(Transport transport) {
  return transport == Transport::tcp || transport == Transport::tls;
}

inline void join(WireEnd& a, WireEnd& b) {
  a.wire().connect(b.node(), b.wire().address());
  b.wire().connect(a.node(), a.wire().address());
}

// Runs `test` for each transport.
template <class Test>
void for_each_transport(const Test& test) {
  for (const Transport transport : all_transports) {
    BOOST_TEST_CONTEXT(name_of(transport)) {
      test(transport);
    }
  }
}

}  // namespace troupe::testing
