// What doesn't fit a memory, and what must wait for room in it.
#pragma once

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

// `to` writes where the tensor was that `from` reads: it may start when `from` has finished.
struct RoomEdge {
  UnitId from;
  UnitId to;
  friend auto operator<=>(const RoomEdge&, const RoomEdge&) = default;
};

// Storage on a file system that doesn't tell its size: the run finds out.
bool is_unlimited(const Memory& memory);

// What all tensors of the plan take together, by memory; at most 2^64 - 1.
std::vector<std::uint64_t> bytes_in_all(const Graph& graph, const Machine& machine,
                                        const Plan& plan);

// The most that the tensors in all memories of kind RAM take together when ops run in graph order.
// The plan must know its results: those that are kept stay to the end.
struct RamNeed {
  std::uint64_t bytes = 0;  // of buffers; at least one of each size, for that is reserved
  std::vector<std::uint64_t> buffers;  // of each of the graph's types at once
};
RamNeed ram_needed(const Graph& graph, const Machine& machine, const Plan& plan);

// Whether there is a memory that can't hold all tensors of the plan together.
bool is_any_tight(const Graph& graph, const Machine& machine, const Plan& plan);

// For plans where there is. Plays the plan through in graph order. Throws a usage Error, with the
// op's place, where a memory can't hold what must be in it at once then; needed and available are
// named. Where it can, gives the edges that keep every other order within it as well: sorted by
// `to`, within windows, from < to, none that is a dependency already. Replicas must know all their
// readers.
std::vector<RoomEdge> order_by_memory(const Graph& graph, const Machine& machine, const Plan& plan);

}  // namespace troupe
