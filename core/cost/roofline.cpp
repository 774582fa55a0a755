#include "core/cost/roofline.hpp"

#include <algorithm>
#include <optional>

namespace troupe {
namespace {

std::optional<double> rate_of(const Device& device, const OpKind& kind) {
  const auto named = device.op_flops.find(kind.name);
  if (named != device.op_flops.end()) return named->second;
  return device.flops;
}

}  // namespace

bool Roofline::knows(DeviceId id, const Graph& graph, const OpClass& op_class) const {
  const Device& device = machine_->device(id);
  const OpKind& kind = graph.kinds()[op_class.kind];
  if (kind.fixed_time || kind.moves_data || rate_of(device, kind)) return true;
  return device.bandwidth && op_class.work.flops <= op_class.work.bytes;
}

Duration Roofline::op(DeviceId id, const Graph& graph, const OpClass& op_class) const {
  constexpr double assumed_flops = 1e9;
  constexpr double assumed_bandwidth = 1e9;
  const Device& device = machine_->device(id);
  const Work& work = op_class.work;
  const OpKind& kind = graph.kinds()[op_class.kind];
  std::optional<double> rate = rate_of(device, kind);
  std::optional<double> bandwidth = device.bandwidth;
  if (!rate && !bandwidth && !kind.moves_data) {
    rate = assumed_flops;
    bandwidth = assumed_bandwidth;
  }
  const double compute_s = rate ? work.flops / *rate : 0;
  const double memory_s = bandwidth ? work.bytes / *bandwidth : 0;
  return device.launch + work.fixed + from_seconds(std::max(compute_s, memory_s));
}

TransferCost Roofline::transfer(LinkId id, Direction direction, std::uint64_t bytes) const {
  const Link& link = machine_->link(id);
  const double bandwidth = link.bandwidth[static_cast<int>(direction)];
  return {.latency = link.latency, .wire = from_seconds(static_cast<double>(bytes) / bandwidth)};
}

}  // namespace troupe
