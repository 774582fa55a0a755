// How long ops take, for placement policies.
#pragma once

#include "core/base/random.hpp"
#include "core/base/time.hpp"
#include "core/plan/placement_policy.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace troupe {

// The request must outlive it. For use by one thread.
class OpTimes {
 public:
  explicit OpTimes(const PlacementRequest& request)
      : r_(request),
        known_(std::bit_ceil(std::max<std::size_t>(64, 2 * request.machine.devices.size()))) {}

  // At most longest_duration. The times looked up last are remembered.
  Duration on(DeviceId device, OpId op) {
    const std::uint32_t op_class = r_.graph.class_index(op);
    const std::uint64_t pair = std::uint64_t{op_class} << 32 | device.value;
    Known& known = known_[mix(pair) & (known_.size() - 1)];
    if (known.pair != pair) {
      const Duration time = r_.cost.op(device, r_.graph, r_.graph.op_class(op));
      known = {pair, std::min(time, longest_duration)};
    }
    return known.time;
  }

 private:
  struct Known {
    std::uint64_t pair = std::numeric_limits<std::uint64_t>::max();
    Duration time{0};
  };

  const PlacementRequest& r_;
  std::vector<Known> known_;  // their number is a power of two
};

}  // namespace troupe
