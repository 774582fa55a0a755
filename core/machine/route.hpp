// Routes: the links that a tensor takes from one memory to another.
#pragma once

#include "core/machine/machine.hpp"
#include "core/machine/memory_tree.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace troupe {

struct Hop {
  LinkId link;
  Direction direction = Direction::forward;
  friend bool operator==(const Hop&, const Hop&) = default;
};

using Route = std::vector<Hop>;

// How many chunks a tensor is cut into on a route, which must have a link: 1 on a single link that
// moves its transfers one by one. Else enough for transfers to share a link, and to be pipelined
// over several links.
std::uint16_t chunk_count(const Machine& machine, std::span<const Hop> route, std::uint64_t bytes);

// The memory, not a switch, at the other end of the link on which a large tensor is there and back
// soonest; the first such one. None if `memory` has no link. By way of it, tensors are copied
// within a memory where no device can.
MemoryId nearest_memory(const Machine& machine, MemoryId memory);

// Finds the fastest routes of one machine. Routes are searched within blocks of the memory tree and
// put together from these. So on a machine whose nodes are joined by switches, time and memory grow
// with the number of memories, not of pairs. Call from one thread only.
class Router {
 public:
  // `machine` must outlive the router.
  explicit Router(const Machine& machine);

  // Returns the route that is fastest for a tensor of 1 MiB, latencies included (Dijkstra). Among
  // equal routes the choice is always the same; among equal links between the same two memories it
  // is the first. Returns an empty route if `from` is `to`, and null if there is no route. The
  // pointer is valid as long as the router, which keeps the route for later calls.
  const Route* route(MemoryId from, MemoryId to);
  // Writes the same route to `found`, without keeping it. Returns false if there is none.
  bool find(MemoryId from, MemoryId to, Route& found);

  const MemoryTree& tree() const { return tree_; }

 private:
  static std::uint64_t key(MemoryId from, MemoryId to) {
    return std::uint64_t{from.value} << 32 | to.value;
  }
  std::uint32_t block_of(LinkId link) const;
  const Route& within_block(MemoryId from, MemoryId to, std::uint32_t block);
  void search(MemoryId from, std::uint32_t block);

  const Machine* machine_;
  const MemoryTree tree_;
  // By memory: in the order of blocks, those of a block in the machine's order.
  std::vector<std::vector<Hop>> leaving_;
  std::unordered_map<std::uint64_t, Route> routes_;  // by key()
  std::vector<MemoryId> down_;                       // of find(): the way to the target, backwards
};

}  // namespace troupe
