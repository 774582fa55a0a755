// A node's end of the network in one run: chunks that come, until a link moves them.
#pragma once

#include "core/backend/backend.hpp"
#include "core/base/id.hpp"
#include "core/graph/replica.hpp"
#include "core/network/wire.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

namespace troupe {

// From the second chunk on, a tensor goes into its buffer as it comes: before the link's actor has
// learned of the chunk. Thread-safe.
class NetworkPort {
 public:
  // Called on the wire's thread for each chunk that has come: this item may move it now.
  using OnChunk = std::function<void(const ChunkMove::Next&)>;

  // The wire must outlive the port.
  NetworkPort(Wire& wire, std::uint32_t run, NodeId self, OnChunk on_chunk);
  // Drops the chunks that no link has moved, and blocks until nothing is under way. No chunk may
  // arrive any more.
  ~NetworkPort();
  NetworkPort(const NetworkPort&) = delete;
  NetworkPort& operator=(const NetworkPort&) = delete;

  // Whether nothing is under way here. A chunk that the wire has sent isn't, though it may not have
  // arrived.
  bool is_quiet();
  // Since the port began, with chunks that were dropped or have failed.
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
  };
  Counts counts();

  // Sends a chunk, as Wire::send() does.
  void send(NodeId to, ChunkHeader header, const std::byte* bytes, ChunkDone done);
  // Has the wire's thread call `function`, as Wire::post() does. False also once it is abandoned.
  bool post(std::function<void()> function, bool polls_next);
  // Does what the wire's thread would do now, as Wire::progress() does. Does nothing once it is
  // abandoned.
  bool progress();
  // Ends the help of a thread in progress(), as Wire::leave() does.
  void leave();
  // A chunk of this run has come: for the listener of the wire.
  void arrived(const ChunkHeader& header, ArrivedChunk chunk);
  // No link will begin with another chunk: drops those that no link moves, and those that come from
  // now on. Who sends them would wait for their end.
  void drop_rest();
  // Nothing can come or go any more, because of `cause`; the first call counts. What is under way
  // fails, and so does whatever begins later. The wire isn't called any more, and may be destroyed;
  // it must be before the buffers are freed that chunks came from or went to.
  void abandon(const std::string& cause);

  // Moves a chunk that has come to the buffer of its tensor, `to`: has finished, or will report to
  // `completions`, which must outlive it. Throws a run Error if it has failed, or isn't a part of
  // the tensor.
  Started receive(const ChunkMove& move, std::span<std::byte> to, Completions& completions);
  // No end is reported to `completions` any more.
  void forget(const Completions& completions);

 private:
  struct Chunk {
    ArrivedChunk arrived = nullptr;  // until it is taken
    std::uint64_t bytes = 0;
    bool is_taken = false;  // into the buffer; its end may be ahead
    bool is_there = false;
    std::string failure = {};
    Completions* waiting = nullptr;  // the link that moves it
    std::uint32_t slot = 0;
  };
  // A tensor that comes in chunks.
  struct Tensor {
    std::span<std::byte> buffer = {};            // once a link has moved the first chunk
    std::map<std::uint64_t, Chunk> chunks = {};  // by offset; those that no link has moved
    bool is_moved = false;                       // the last chunk, too, or a link waits for it
    bool is_over() const { return is_moved && chunks.empty(); }
    // Where a chunk goes. Null: it is outside the tensor, and has failed.
    std::byte* begin_taking(std::uint64_t offset, Chunk& chunk) const;
  };

  using Tensors = std::unordered_map<ReplicaId, Tensor>;

  void arrived_empty(const ChunkHeader& header, ArrivedChunk chunk);
  // Drops it if there is no target.
  void take(ReplicaId replica, std::uint64_t offset, ArrivedChunk chunk, std::byte* target);
  void drop(ArrivedChunk chunk);
  void taken(ReplicaId replica, std::uint64_t offset, const std::string& failure);
  // A link has begun to move the last chunk.
  void moved(Tensors::iterator tensor);
  // Reports the end of a chunk, which is gone then, if a link waits for it.
  static bool report(const Chunk& chunk);

  // A call of the wire begins, which lasts until end_call(): abandon() waits for that. False: the
  // port is abandoned, and the wire must not be called.
  //
  // For a chunk, which is under way until end_one(). The caller must hold mutex_.
  bool begin_chunk_locked();
  // For what is no chunk. Takes mutex_, as end_call() and end_one() do.
  bool begin_help();
  void end_call();
  void end_one();

  Wire& wire_;
  std::mutex posting_;  // by whoever learns of an end, too
  bool may_post_ = true;
  const std::uint32_t run_;
  const NodeId self_;
  const OnChunk on_chunk_;
  // Guards what follows. Never held while the wire is called; but held while the end of a chunk is
  // reported, so that whoever waits for it is not gone before.
  std::mutex mutex_;
  std::condition_variable quiet_;
  std::size_t under_way_ = 0;                             // sent or taken
  std::size_t calls_ = 0;                                 // of the wire, that have not returned
  std::unordered_map<std::uint64_t, ChunkDone> sending_;  // by a number of their own
  // Abandoned: what they own is kept, as the wire may still read it.
  std::unordered_map<std::uint64_t, ChunkDone> left_;
  std::uint64_t next_sending_ = 0;  // also the number of chunks sent
  std::uint64_t arrived_ = 0;
  std::string abandoned_;  // the cause
  bool drops_rest_ = false;
  Tensors tensors_;
};

}  // namespace troupe
