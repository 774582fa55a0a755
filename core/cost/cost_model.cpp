#include "core/cost/cost_model.hpp"

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

bool has_cost(const Device& device, const OpKind& kind) {
  return kind.fixed_time || rate_of(device, kind) || device.bandwidth;
}

bool has_cost(const Device& device, const OpKind& kind, const Work& work) {
  if (kind.fixed_time || rate_of(device, kind)) return true;
  return device.bandwidth && work.flops <= work.bytes;
}

Duration op_time(const Device& device, const OpKind& kind, const Work& work) {
  constexpr double assumed_flops = 1e9;
  constexpr double assumed_bandwidth = 1e9;
  std::optional<double> rate = rate_of(device, kind);
  std::optional<double> bandwidth = device.bandwidth;
  if (!rate && !bandwidth) {
    rate = assumed_flops;
    bandwidth = assumed_bandwidth;
  }
  const double compute_s = rate ? work.flops / *rate : 0;
  const double memory_s = bandwidth ? work.bytes / *bandwidth : 0;
  return device.launch + work.fixed + from_seconds(std::max(compute_s, memory_s));
}

Duration wire_time(const Link& link, Direction direction, std::uint64_t bytes) {
  return from_seconds(static_cast<double>(bytes) / link.bandwidth[static_cast<int>(direction)]);
}

Duration transfer_time(const Link& link, Direction direction, std::uint64_t bytes) {
  return link.latency + wire_time(link, direction, bytes);
}

}  // namespace troupe
