// Which of the tensors that a plan makes stay, and for how long.
#pragma once

#include "core/base/sliding_vector.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/windows.hpp"

#include <vector>

namespace troupe {

// Fills the plan's results, and adds a reader to each replica that is kept until the run ends: see
// PlanOptions::compare_results. `home`: where each op's result is. Replicas must know all their
// other readers.
void keep_results(Plan& plan, const Graph& graph, const Machine& machine,
                  const PlanOptions& options, const std::vector<WindowOps>& windows,
                  const SlidingVector<ReplicaId>& home);

// Of the plan's last window, one of a stream: what may be read later (ops from `keep_from` on) and
// what nobody reads. Each gets a reader more.
std::vector<PlannedWindow::Hold> hold_results(Plan& plan, OpId keep_from);

}  // namespace troupe
