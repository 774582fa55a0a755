// A scenario's steps as windows of ops.
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

// An untimed window of the ops that listed ops need but no step lists, if there are any; then one
// window for the steps up to each wait and one for the rest. Throws a usage Error if a step needs a
// step that is listed only after a later wait, or a group is listed twice.
std::vector<WindowOps> scenario_windows(const Graph& graph, const Scenario& scenario);

}  // namespace troupe
