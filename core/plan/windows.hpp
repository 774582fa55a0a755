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

// First, untimed, whatever the listed ops need but no step lists (no such window where there is
// nothing); then a window for each run of steps between waits. Throws a usage Error where a step
// needs one that is listed only after a later wait, or a group is listed twice.
std::vector<WindowOps> scenario_windows(const Graph& graph, const Scenario& scenario);

}  // namespace troupe
