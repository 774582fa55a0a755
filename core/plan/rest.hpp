// What is still to be made of a plan when nodes were lost, and with them tensors.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/windows.hpp"

#include <span>
#include <vector>

namespace troupe {

// What has become of the tensors of a plan whose run has ended early, by replica.
struct Remains {
  std::vector<bool> is_made;        // wholly, be it held or not
  std::vector<bool> exists;         // made, and held
  std::vector<bool> leaves_digest;  // made, freed, and its digest can be read

  bool has(ReplicaId replica) const { return exists[replica.index()]; }
};

// A replica is held until each of its readers has finished. What is in memories of lost nodes is
// gone. `windows` are those that were sent, with the records of their items; `made_before`, by
// replica, what was there before that (find_rest() has been called before), or empty.
Remains find_remains(const Machine& machine, const Plan& plan, std::span<const Window> windows,
                     const std::vector<bool>& made_before, const std::vector<bool>& lost_nodes);

// What a scenario is to make, and in which order.
struct Goal {
  std::vector<WindowOps> windows;  // those of scenario_windows()
  // The timed results that no op of the scenario reads, and those to be saved. Sorted.
  std::vector<OpId> wanted;
};

// `saved` must be sorted. Without `needs_outputs`, nothing else is wanted.
Goal find_goal(const Graph& graph, const Scenario& scenario, std::span<const OpId> saved,
               bool needs_outputs = true);

// By op: whether its tensor exists in some memory.
std::vector<bool> existing_ops(const Graph& graph, const Plan& plan, const Remains& remains);

struct Rest {
  // Those of the goal, with these ops only; windows that are empty are left out.
  std::vector<WindowOps> windows;
  // By op: its tensor is made, for the first time or again. Other tensors are as before.
  std::vector<bool> is_made;
  // By op: its result is wanted. Of others, which were kept to be compared, none is made for that.
  std::vector<bool> is_wanted;
};

// Walks back from the results that are wanted and don't exist, to tensors that do, or to ops that
// need none.
Rest find_rest(const Graph& graph, const Goal& goal, const std::vector<bool>& exists);

// One replica of each tensor that exists, and that is wanted or is read by what is still to be
// made: enough to go on with. In op order.
std::vector<ReplicaId> needed_replicas(const Graph& graph, const Rest& rest, const Plan& plan,
                                       const Remains& remains);

}  // namespace troupe
