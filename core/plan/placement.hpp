// Where every op of a scenario runs.
#pragma once

#include "core/machine/route.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/windows.hpp"

#include <vector>

namespace troupe {

// A device for every op, or none with the target memory for a copy that links carry out; by OpId,
// empty for ops outside the windows. Explicit placements are kept; ops without one are placed by
// HEFT, and among what is prepared before the clock starts with their first reader.
// Throws a usage Error where a device lacks an op's kernel or no device has it.
std::vector<Placement> place_ops(const Graph& graph, const Machine& machine, Router& router,
                                 const std::vector<WindowOps>& windows, const PlanOptions& options);

}  // namespace troupe
