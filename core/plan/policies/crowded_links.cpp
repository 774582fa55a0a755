#include "core/plan/policies/crowded_links.hpp"

#include "core/plan/policies/contended_schedule.hpp"
#include "core/plan/policies/heft.hpp"
#include "core/plan/policies/simple_placements.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace troupe {
namespace {

// Ops and their inputs.
constexpr std::size_t estimated_max = 1 << 17;

// A tenth more than HEFT expects is what idle links may come to, too.
bool is_crowded(Duration expected, Duration estimated) {
  return estimated > expected + expected / 10;
}

// By more than estimates are likely to be wrong.
bool is_clearly_shorter(Duration time, Duration than) {
  return time < than - than / 50;
}

}  // namespace

std::vector<DeviceId> heft_or_simple_placement(const PlacementRequest& request) {
  HeftSchedule heft = heft_schedule(request);
  if (!request.reachability.allows_all()) return std::move(heft.devices);
  ContendedSchedule schedule(request, estimated_max);
  if (!schedule.moves_any(heft.devices)) return std::move(heft.devices);
  const auto end = heft.ends.begin() + static_cast<std::ptrdiff_t>(schedule.size());
  const Duration expected = *std::max_element(heft.ends.begin(), end);
  const Duration by_heft = schedule.makespan(heft.devices);
  if (!is_crowded(expected, by_heft)) return std::move(heft.devices);
  std::vector<DeviceId> best = in_blocks(request);
  Duration shortest = schedule.makespan(best);
  if (std::optional<std::vector<DeviceId>> one = on_one_device(request); one) {
    const Duration time = schedule.makespan(*one);
    if (time < shortest) {
      shortest = time;
      best = std::move(*one);
    }
  }
  return is_clearly_shorter(shortest, by_heft) ? best : std::move(heft.devices);
}

}  // namespace troupe
