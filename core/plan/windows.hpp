// Splits the steps of a scenario into windows of ops.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/op_ranges.hpp"
#include "core/graph/scenario.hpp"

#include <vector>

namespace troupe {

struct WindowOps {
  OpRanges ops;  // in graph order
  bool timed = true;
};

// The first window is untimed and contains the ops that the listed ops need but no step lists; it
// is left out if there are no such ops. Then comes one window for the steps between two waits.
// Throws a usage Error if an op is listed before a wait and one of its inputs only after it, if an
// op that isn't listed needs one that is, or if a group is listed twice.
std::vector<WindowOps> scenario_windows(const Graph& graph, const Scenario& scenario);

}  // namespace troupe
