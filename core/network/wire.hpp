// How tensors get from node to node: chunks, each with the notice that it has arrived.
#pragma once

#include "core/base/id.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

namespace troupe {

// What a chunk is and who waits for it: travels in front of its bytes. Ids are those of the plan,
// which all nodes share.
struct ChunkHeader {
  std::uint32_t run = 0;       // chunks of runs that are over are dropped
  std::uint32_t window = 0;    // of the item that waits for the chunk
  std::uint32_t resource = 0;  // the link of the receiving node that has this item in its share
  std::uint32_t item = 0;
  std::uint32_t replica = 0;  // the tensor on its way: what this item reads
  std::uint32_t from = 0;     // the node that sends it
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // of the chunk
};
static_assert(std::is_trivially_copyable_v<ChunkHeader>);

// A chunk that has come, and was neither taken nor dropped. Belongs to the Wire.
using ArrivedChunk = void*;

// Gets what happens to a Wire, one thing at a time, on the wire's own thread or within progress();
// must not block.
class WireListener {
 public:
  virtual ~WireListener() = default;
  // Must be answered by take() or drop(), now or later. Chunks of one sender come in the order in
  // which they were sent.
  virtual void arrived(const ChunkHeader& header, ArrivedChunk chunk) = 0;
  // Nothing can be sent to this node any more, and nothing comes from it. That is a suspicion: the
  // node may be alive. What was under way with it has failed. Once for each node.
  virtual void lost(NodeId node, const std::string& cause) = 0;
};

// The end of sending or taking a chunk; `failure` is empty if it has succeeded. Called once, as a
// WireListener is; must not block.
using ChunkDone = std::function<void(const std::string& failure)>;

// One node's end of what joins the nodes of a run. All functions are thread-safe and don't block,
// unless they say so.
class Wire {
 public:
  // Drops what is under way, without calling ChunkDone. The listener may be called until it
  // returns. Blocks. Must not be called on the wire's thread.
  virtual ~Wire() = default;

  // What other nodes need to connect to this one. May be another one after lost().
  virtual std::string address() const = 0;
  // Joins a node, and itself gets its chunks. Both ends must call it before they send. Where only
  // one of them opens a connection, only that one finds out that this can't be done. May be called
  // again for a node, with another address: what was under way with it fails. Does nothing if the
  // node is connected at this address. Throws a run Error if the address is malformed.
  virtual void connect(NodeId node, const std::string& address) = 0;
  // Sends header.bytes bytes to a node that is connected. They must not change until `done` is
  // called, which doesn't mean that they have been taken. After a failure, the other node may read
  // them until it has lost this one, too.
  virtual void send(NodeId to, const ChunkHeader& header, const std::byte* bytes,
                    ChunkDone done) = 0;
  // Copies the chunk's bytes to `target`, which must stay until `done` is called. The chunk is gone
  // then. True: it is gone already, and `done` won't be called.
  [[nodiscard]] virtual bool take(ArrivedChunk chunk, std::byte* target, ChunkDone done) = 0;
  virtual void drop(ArrivedChunk chunk) = 0;
  // Has the wire's thread, or whoever is in progress(), call `function`, which must not block:
  // soon, after those that it was given before, and not within a call of the listener or a
  // ChunkDone. The destructor lets all be called. `polls_next`: the caller calls progress() next,
  // so the wire's thread isn't woken for this. False: the wire has no thread.
  virtual bool post(std::function<void()> function, bool polls_next) = 0;
  // Does here, once, what the wire's thread does all the time, unless another thread is at it: for
  // threads that wait for what may come over the wire, and would have to be woken by the wire's
  // thread. That leaves the work to them until one of them calls leave(), or about a millisecond
  // after they have stopped. True if something has happened.
  virtual bool progress() = 0;
  // The caller won't call progress() for a while that is long for a chunk that waits: the wire's
  // thread goes on at once.
  virtual void leave() = 0;
};

}  // namespace troupe
