// Which tensors of a plan are kept as results, and for how long.
#pragma once

#include "core/base/sliding_vector.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/rest.hpp"
#include "core/plan/windows.hpp"

#include <functional>
#include <vector>

namespace troupe {

// Fills Plan::results, and adds a reader to each replica that is kept until the run ends (see
// PlanOptions::compare_results and `saved`). `home` is the replica of each op's result. All other
// readers must have been counted.
void keep_results(Plan& plan, const Graph& graph, const Machine& machine,
                  const PlanOptions& options, const std::vector<WindowOps>& windows,
                  const SlidingVector<ReplicaId>& home);

// For windows that make what a plan lacks (see rest.hpp): results that aren't there any more leave
// Plan::results, and those that are made again come in.
void keep_rest(Plan& plan, const Remains& remains, const Rest& rest,
               const SlidingVector<ReplicaId>& home);

// For the last window planned of a stream: the replicas of tensors that later windows may read, and
// those without readers. Adds a reader to each. Replicas in switches aren't read later.
std::vector<PlannedWindow::Hold> hold_results(Plan& plan, const Machine& machine,
                                              const std::function<bool(OpId)>& may_be_read);

}  // namespace troupe
