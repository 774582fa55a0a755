// The expected times of ops and transfers, for planning, simulated runs and reports. Each cost
// model has a file in this folder.
#pragma once

#include "core/base/id.hpp"
#include "core/cost/transfer_cost.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

#include <cstdint>
#include <memory>

namespace troupe {

// A cost model of one machine. Equal arguments always give equal results. Thread-safe.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // Whether the model knows the time of ops of this class of `graph` on `device`. A simulation
  // requires it; a real run doesn't.
  virtual bool knows(DeviceId device, const Graph& graph, const OpClass& op_class) const = 0;

  // The time of one op of this class of `graph`. If the model doesn't know it, a rough estimate by
  // which a real run can order ops.
  virtual Duration op(DeviceId device, const Graph& graph, const OpClass& op_class) const = 0;

  // The time of a tensor of `bytes` over `link` in one direction, if no other transfer uses the
  // link.
  virtual TransferCost transfer(LinkId link, Direction direction, std::uint64_t bytes) const = 0;
};

// The model of plans and runs for which no other is chosen. `machine` must outlive it.
std::shared_ptr<const CostModel> default_cost_model(const Machine& machine);

}  // namespace troupe
