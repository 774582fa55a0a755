// A scenario made ready to run: where every op runs, which transfers it takes, each actor's shares.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/share.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// Ops between two waits. All of it completes before the next window starts.
struct Window {
  std::vector<std::pair<ResourceId, Share>> shares;  // of the resources that have work
  UnitId first;                                      // its units are numbered in a row
  std::uint64_t items = 0;                           // how many there are
  bool timed = true;
};

struct Unit {
  ItemRef ref;
  OpId op;  // the op, or the one whose tensor is moved
  bool transfer : 1 = false;
  bool makes_result : 1 = false;  // the op's own tensor, rather than a replica of it elsewhere
  bool paced : 1 = false;         // a transfer that takes chunks as the unit before delivers them
  std::uint16_t chunks = 1;       // of a transfer
};

struct Plan {
  std::vector<Window> windows;

  std::vector<Unit> units;  // of timed windows and of what is prepared before them
  UnitId first_timed;       // units before it are prepared before the clock starts
  std::vector<std::uint32_t> first_predecessor;  // units.size() + 1
  std::vector<UnitId> predecessors;              // over windows, too

  std::vector<ReplicaSpec> replicas;  // in MemoryStore order; types are the graph's
  struct Result {
    OpId op;
    ReplicaId replica;
    bool is_kept = true;  // still there when the run ends; else it leaves a digest
  };
  std::vector<Result> results;  // in op order; all of them where they are to be compared
  std::vector<OpId> ops;        // every op of the plan, in graph order
  std::uint64_t timed_ops = 0;

  std::size_t timed_units() const { return first_timed ? units.size() - first_timed.index() : 0; }
  // In how many parts `from` hands its tensor to `to`; 1 where `to` waits for all of it.
  std::uint32_t chunks_between(UnitId from, UnitId to) const {
    const bool is_route = units[to.index()].paced && from.value + 1 == to.value;
    return is_route ? units[from.index()].chunks : 1;
  }
  std::span<const UnitId> predecessors_of(UnitId u) const {
    return {predecessors.data() + first_predecessor[u.index()],
            first_predecessor[u.index() + 1] - first_predecessor[u.index()]};
  }
};

}  // namespace troupe
