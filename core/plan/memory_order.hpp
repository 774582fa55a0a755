// Refuses plans whose tensors don't fit a memory, and makes ops wait for room in a full one.
#pragma once

#include "core/base/error.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_options.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace troupe {

// A usage Error: a memory is too small for the tensors that are there at once.
class NoRoom : public Error {
 public:
  explicit NoRoom(Error error) : Error(std::move(error)) {}
};

// `to` reuses the room of a tensor that `from` reads, so `to` may start when `from` has finished.
struct RoomEdge {
  UnitId from;
  UnitId to;
  friend auto operator<=>(const RoomEdge&, const RoomEdge&) = default;
};

struct RoomOrder {
  // In the order of `to`, with from < to in one window, without edges that are dependencies
  // already.
  std::vector<RoomEdge> edges;
  // Units that wait for room, in their order: those that they depend on must be done, and not just
  // issued, since their inputs are freed only then.
  std::vector<UnitId> waiting;
};

// True for storage of unknown size, which isn't checked: a write fails if the file system is full.
bool is_unlimited(const Memory& memory);

// Sum of the sizes of all tensors of the plan, by memory. Stops at 2^64 - 1.
std::vector<std::uint64_t> bytes_in_all(const Graph& graph, const Machine& machine,
                                        const Plan& plan);

// Peak size of the tensors in all memories of kind RAM when ops run in graph order. The plan's
// results must be filled in: results that are kept are held until the end.
struct RamNeed {
  std::uint64_t bytes = 0;  // of buffers; at least one buffer of each size, which a run reserves
  std::vector<std::uint64_t> buffers;  // peak number of buffers, by type of the graph
};
RamNeed ram_needed(const Graph& graph, const Machine& machine, const Plan& plan,
                   const PlanOptions& options);

// Whether some memory is too small for all tensors that the plan puts there, all at once.
bool is_any_tight(const Graph& graph, const Machine& machine, const Plan& plan);

// For plans for which is_any_tight() is true. Simulates allocation and release in graph order.
// Throws a usage Error with the op's place, the needed and the available bytes if a tensor doesn't
// fit then. Otherwise returns what keeps every other order of execution within the memories as
// well. The replicas' numbers of readers must be final. Without `across_nodes`, also throws if an
// edge would join two nodes.
RoomOrder order_by_memory(const Graph& graph, const Machine& machine, const Plan& plan,
                          bool across_nodes = true);

}  // namespace troupe
