// How long ops and transfers take: the one question that planning, simulated runs and reports of
// expected times ask. A cost model is a value: a file in this folder for each, chosen in
// core/backend/run_setting.cpp.
#pragma once

#include "core/base/id.hpp"
#include "core/cost/transfer_cost.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"

#include <cstdint>

namespace troupe {

// For one machine. Answers are the same whenever and however often a question is asked.
// Thread-safe.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // Whether the model can tell the time of ops of this class of `graph` on `device`. A simulation
  // needs that; a real run doesn't.
  virtual bool knows(DeviceId device, const Graph& graph, const OpClass& op_class) const = 0;

  // One op of this class of `graph`. Where the model doesn't know it, a rough time that still lets
  // a real run order its ops.
  virtual Duration op(DeviceId device, const Graph& graph, const OpClass& op_class) const = 0;

  // A tensor of `bytes` over `link` in one direction, with the link to itself.
  virtual TransferCost transfer(LinkId link, Direction direction, std::uint64_t bytes) const = 0;
};

}  // namespace troupe
