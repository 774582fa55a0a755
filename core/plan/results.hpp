// Which tensors of a plan are kept as results, and for how long.
#pragma once

#include "core/base/sliding_vector.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/windows.hpp"

#include <vector>

namespace troupe {

// Fills Plan::results, and adds a reader to each replica that is kept until the run ends (see
// PlanOptions::compare_results). `home` is the replica of each op's result. All other readers must
// have been counted.
void keep_results(Plan& plan, const Graph& graph, const Machine& machine,
                  const PlanOptions& options, const std::vector<WindowOps>& windows,
                  const SlidingVector<ReplicaId>& home);

// For the last window planned of a stream: the replicas that later windows may read (ops from
// `keep_from` on) and those without readers. Adds a reader to each.
std::vector<PlannedWindow::Hold> hold_results(Plan& plan, OpId keep_from);

}  // namespace troupe
