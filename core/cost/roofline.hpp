// The cost model of a machine file: rooflines over its rates and bandwidths.
#pragma once

#include "core/cost/cost_model.hpp"
#include "core/ops/op_kind.hpp"

namespace troupe {

class Roofline final : public CostModel {
 public:
  // `machine` must outlive the model.
  explicit Roofline(const Machine& machine) : machine_(&machine) {}

  // Whether the machine file has a rate for the op's kind by name, or a general `flops` for the
  // device, or a `bandwidth` and the op does at most one FLOP per byte, so that memory bounds it on
  // any device. Ops of fixed time (sleep) need nothing.
  bool knows(DeviceId device, const Graph& graph, const OpClass& op_class) const override;

  // Roofline (Williams, Waterman, Patterson: Roofline, CACM 2009):
  //   launch + fixed + max(FLOPs / rate, bytes / bandwidth)
  // The rate is that of the op's kind by name, else the device's `flops`. What the file leaves out
  // does not bound the time; where it says nothing at all, 1 GFLOP/s and 1 GB/s are assumed.
  Duration op(DeviceId device, const Graph& graph, const OpClass& op_class) const override;

  // The link's latency, and bytes / bandwidth.
  TransferCost transfer(LinkId link, Direction direction, std::uint64_t bytes) const override;

  // The same for an op that is in no graph.
  bool knows(DeviceId device, const OpKind& kind, const Work& work) const;
  Duration op(DeviceId device, const OpKind& kind, const Work& work) const;

 private:
  const Machine* machine_;
};

}  // namespace troupe
