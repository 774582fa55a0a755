// Placement policies: how ops that were given no placement get a device. To add one, write a file
// in policies/ and list it in placement_policy.cpp; PlanOptions::placement_policy names the one of
// a plan.
#pragma once

#include "core/base/time.hpp"
#include "core/cost/cost_model.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/machine/route.hpp"
#include "core/plan/reachability.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {

struct PlacementRequest {
  const Graph& graph;
  const Machine& machine;
  const CostModel& cost;
  Router& router;
  // The ops to place and those around them that have a placement, which must be kept. Each op comes
  // after the ops that it reads. Further outputs are left out: they are where graph.maker() is.
  std::span<const OpId> ops;
  // Where windows begin in `ops`, but the first, in ascending order: an op from there on starts
  // when all ops before have ended, and so do transfers to it.
  std::span<const std::size_t> waits = {};
  // As the user says, but on nodes that are lost.
  std::function<const Placement&(OpId)> placement;
  // An op may read ops that are not among `ops`: of an earlier window, or prepared before the clock
  // starts. Returns the memory in which such an op leaves its result; none if that isn't decided.
  std::function<MemoryId(OpId)> home;
  // Whether the device has a kernel for the op and, if the plan needs costs, the cost model knows
  // the op's time there. Has one answer for all ops of a class, so one call a class is enough.
  std::function<bool(DeviceId, OpId)> can_run;
  // An op may be placed only on a device that this allows. The policy reports each of its choices
  // to it, so that connected ops end up where they can reach each other.
  Reachability& reachability;
  // By device: how long it will still be at work on earlier windows. Empty: all devices are free.
  std::span<const Duration> busy = {};
};

struct PlacementPolicy {
  std::string_view name;
  // Returns a device for each op, in the order of `request.ops`: the given one where there is one,
  // none for copies to a memory and for ops that no device can run.
  std::vector<DeviceId> (*place)(const PlacementRequest& request);
};

// Every policy of this build.
std::span<const PlacementPolicy> placement_policies();

// Throws a usage Error that lists the policies if there is none of this name.
const PlacementPolicy& find_placement_policy(std::string_view name);

}  // namespace troupe
