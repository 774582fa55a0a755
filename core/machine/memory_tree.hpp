// Which memories lie behind which, as seen through the links.
#pragma once

#include "core/machine/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

// Memories that are joined by links, directly or over others, are an island. An island falls into
// blocks (biconnected components): sets of memories that hold together if any one of them is taken
// away. Two memories and the only links between them are the smallest block. Blocks share single
// memories only, and so are a tree: each has one memory, its gate, through which all routes from
// the first memory of the island to the others go.
//
//   n0.host ── n0.vram      Blocks: {n0.host, n0.vram} and {n0.host, network}, whose gate is
//      │                    n0.host; {network, n1.host}, whose gate is network; and
//   network                 {n1.host, n1.vram}, whose gate is n1.host.
//      │
//   n1.host ── n1.vram
//
// A memory and all that is behind it, seen from the first memory of the island, is its region.
// Memories have positions from 0 on, such that regions are ranges: that of n1.host is n1.host and
// n1.vram. All routes into a region and out of it go through its first memory.
class MemoryTree {
 public:
  // O(memories + links).
  explicit MemoryTree(const Machine& machine);

  // Of the block in which the memory is not the gate; none for the first memory of an island.
  MemoryId gate(MemoryId m) const { return places_[m.index()].gate; }
  std::uint32_t block(MemoryId m) const { return places_[m.index()].block; }
  // Number of gates on the way to the first memory of the island.
  std::uint32_t depth(MemoryId m) const { return places_[m.index()].depth; }
  // The region of `m` is from begin(m), the position of `m` itself, to before end(m).
  std::uint32_t begin(MemoryId m) const { return places_[m.index()].begin; }
  std::uint32_t end(MemoryId m) const { return places_[m.index()].begin + places_[m.index()].size; }

  // The first memory of the island of `m`.
  MemoryId root(MemoryId m) const { return places_[m.index()].root; }
  std::span<const MemoryId> roots() const { return roots_; }
  bool are_joined(MemoryId a, MemoryId b) const { return root(a) == root(b); }
  // The memories of a block without its gate.
  std::span<const MemoryId> members(std::uint32_t block) const { return blocks_[block]; }
  std::size_t block_count() const { return blocks_.size(); }
  // All memories, each after its gate.
  std::span<const MemoryId> from_the_roots() const { return found_; }

 private:
  static constexpr std::uint32_t no_block = 0xFFFF'FFFF;
  struct Place {
    MemoryId gate;
    MemoryId root;
    std::uint32_t block = no_block;
    std::uint32_t depth = 0;
    std::uint32_t begin = 0;
    std::uint32_t size = 1;  // of the region
  };

  void find_blocks(const Machine& machine);

  std::vector<Place> places_;  // by memory
  std::vector<std::vector<MemoryId>> blocks_;
  std::vector<MemoryId> roots_;
  std::vector<MemoryId> found_;
};

}  // namespace troupe
