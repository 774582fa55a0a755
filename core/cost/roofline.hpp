// The cost model of a machine file: a roofline for each device, from rates and bandwidths.
#pragma once

#include "core/cost/cost_model.hpp"

namespace troupe {

class Roofline final : public CostModel {
 public:
  // `machine` must outlive the model.
  explicit Roofline(const Machine& machine) : machine_(&machine) {}

  // Whether the machine file has one of: a rate for the op's kind by name; a general `flops` for
  // the device; a `bandwidth`, if the op does at most one FLOP per byte, so that memory bounds its
  // time on any device. Always true for ops of fixed time (sleep), and for copies within a memory.
  bool knows(DeviceId device, const Graph& graph, const OpClass& op_class) const override;

  // Roofline (Williams, Waterman, Patterson: Roofline, CACM 2009):
  //   launch + fixed + max(FLOPs / rate, bytes / bandwidth)
  // The rate is that of the op's kind by name, else the device's `flops`. A rate or bandwidth that
  // the file omits does not bound the time. If it omits both, 1 GFLOP/s and 1 GB/s are assumed, but
  // for copies.
  Duration op(DeviceId device, const Graph& graph, const OpClass& op_class) const override;

  // latency + bytes / bandwidth.
  TransferCost transfer(LinkId link, Direction direction, std::uint64_t bytes) const override;

 private:
  const Machine* machine_;
};

}  // namespace troupe
