// Automatic placement: HEFT (Topcuoglu, Hariri, Wu: Performance-Effective and Low-Complexity Task
// Scheduling for Heterogeneous Computing, IEEE TPDS 13(3), 2002).
#pragma once

#include "core/cost/cost_model.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/machine/route.hpp"

#include <functional>
#include <span>
#include <vector>

namespace troupe {

struct HeftRequest {
  const Graph& graph;
  const Machine& machine;
  const CostModel& cost;
  Router& router;
  std::span<const OpId> ops;  // in graph order
  // The device of an op that is placed already (or of an earlier window), else none.
  std::function<DeviceId(OpId)> fixed;
  // Where an input that is not among `ops` lives.
  std::function<MemoryId(OpId)> home;
  std::function<bool(DeviceId, OpId)> can_run;
};

// The device of each op, in the order of `request.ops`: ops in order of descending upward rank
// (mean op and transfer times over the devices that can run them), each on the device that finishes
// it earliest, in the first gap that is long enough. A copy stays none. None too where no device
// can.
std::vector<DeviceId> heft_placement(const HeftRequest& request);

}  // namespace troupe
