// What a report says of attempts that ended early: what was left, and what was made again.
#pragma once

#include "core/base/time.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/rest.hpp"
#include "core/result/summary.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace troupe {

// What an interrupted run has left, in sentences: "'nap' on cpu0 was still under way …". Empty if
// nothing was. `has_nodes`: the actors are on other nodes; those of this process say what is under
// way.
std::string left_behind(const RunResult& result, Duration grace, bool has_nodes, const Graph& graph,
                        const Machine& machine, const Plan& plan);

// Of all that was planned so far.
std::unordered_set<OpId> finished_ops(const Plan& plan, const Remains& remains);

// What the plan's windows make, which are those of the next attempt, in sentences. `unreported`:
// ops that lost nodes may have finished, without their records having come.
std::string made_again(const Plan& plan, const std::unordered_set<OpId>& finished,
                       const std::unordered_set<OpId>& unreported);

// How many ops lost nodes (by NodeId) may have finished, without their records having come, of
// those that weren't planned anew.
std::size_t unreported_ops(const Plan& plan, const Machine& machine, const std::vector<bool>& lost);

struct TimeAgain {
  Duration known{0};     // of ops that had been made before
  Duration possible{0};  // of those that a lost node may have made
};
// How long devices were busy with what was made again.
TimeAgain time_made_again(const Plan& plan, std::span<const Window> windows,
                          const std::unordered_set<OpId>& unreported);

}  // namespace troupe
