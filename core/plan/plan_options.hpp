// Options of planning that depend on how the plan will be run.
#pragma once

#include "core/base/id.hpp"
#include "core/cost/cost_model.hpp"
#include "core/ops/op_kind.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct PlanOptions {
  // How long ops and transfers take. Null: the machine's Roofline.
  std::shared_ptr<const CostModel> cost = {};
  // Whether a device's backend has a kernel for an op kind. Empty: every device has every kernel.
  std::function<bool(DeviceId, const OpKind&)> has_kernel = {};
  // How timed ops without a placement get a device: a name from placement_policy.hpp.
  std::string placement_policy = "heft";
  // For a simulation: the cost model must know every timed op, and ops that are prepared before the
  // clock starts take no time.
  bool needs_costs = false;
  // Every result will be compared with a serial execution. A result is kept until the run ends if
  // all tensors of the plan in its memory take at most a quarter of that memory; else it leaves a
  // digest. Results that no op of the scenario reads are always kept.
  bool compare_results = false;
  // The host's memory available for tensors in all memories of kind RAM together; the rule of a
  // quarter holds for it, too. None: unlimited (a simulation).
  std::optional<std::uint64_t> ram_bytes = {};
};

}  // namespace troupe
