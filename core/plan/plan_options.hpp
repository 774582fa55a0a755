// What planning must know of how the plan will be carried out.
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
  // How long ops and transfers take; none: the machine's Roofline.
  std::shared_ptr<const CostModel> cost = {};
  // Whether a device can carry out a kind of op (by its backend); none: every device can.
  std::function<bool(DeviceId, const OpKind&)> has_kernel = {};
  // How timed ops without a placement get a device: a name from placement_policy.hpp.
  std::string placement_policy = "heft";
  // The cost model must know every timed op (a simulation); what is prepared before the clock
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

}  // namespace troupe
