// From a graph and a scenario to a plan.
#pragma once

#include "core/plan/plan.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace troupe {

struct PlanOptions {
  // Whether a device can carry out a kind of op (by its backend); none: every device can.
  std::function<bool(DeviceId, const OpKind&)> has_kernel = {};
  // Ops must be timeable from the machine file (a simulation); what is prepared before the clock
  // starts then takes no time.
  bool needs_costs = false;
  // Every result is to be compared with a serial execution: it is kept until the run ends where
  // that takes at most a quarter of its memory, and else leaves a digest. Those that no op of the
  // scenario reads are always kept.
  bool compare_results = false;
  // What the host has for the tensors in all memories of kind RAM together; none: any amount (a
  // simulation). Of this, too, the results that are kept may take a quarter.
  std::optional<std::uint64_t> ram_bytes = {};
};

// Places ops (explicitly, else by earliest finish time, see heft.hpp), inserts a transfer wherever
// an op reads a tensor that its device's memory doesn't hold, and splits the outcome into shares.
//
// Throws a usage Error that names op and device (with the op's place) where a device lacks the
// kernel, there is no route, the scenario lists something before what it needs, or a memory or the
// host can't hold what must be in it at once when ops run in graph order (needed and available are
// named).
Plan make_plan(const Graph& graph, const Machine& machine, const Scenario& scenario,
               const PlanOptions& options);

}  // namespace troupe
