#include "core/plan/policies/shortest_placement.hpp"

#include "core/plan/policies/contended_schedule.hpp"
#include "core/plan/policies/heft.hpp"
#include "core/plan/policies/op_positions.hpp"
#include "core/plan/policies/simple_placements.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace troupe {
namespace {

// Ops and their inputs.
constexpr std::size_t estimated_max = 1 << 18;

// By more than estimates are likely to be wrong.
bool is_clearly_longer(Duration time, Duration than) {
  return time > than + than / 50;
}

// Whether the memories have room for all that ops make and copies of all that they read, even if
// nothing is ever freed. A placement that brings more together may have no plan, unlike HEFT's.
bool surely_fits(const PlacementRequest& r, const std::vector<DeviceId>& devices) {
  const OpPositions positions(r.ops);
  const auto memory_of = [&](std::size_t i) {
    return devices[i] ? r.machine.device(devices[i]).memory : r.placement(r.ops[i]).memory;
  };
  const auto home_of = [&](OpId tensor) {
    const std::uint32_t maker = positions.of(r.graph.maker(tensor));
    return maker == OpPositions::outside ? r.home(tensor) : memory_of(maker);
  };
  std::vector<std::uint64_t> bytes(r.machine.memories.size(), 0);
  for (std::size_t i = 0; i < r.ops.size(); ++i) {
    const MemoryId memory = memory_of(i);
    if (!memory) continue;
    const OpId op = r.ops[i];
    const std::uint32_t further = r.graph.op_class(op).further;
    for (std::uint32_t k = 0; k <= further; ++k) {
      bytes[memory.index()] += r.graph.type(OpId{op.value + k}).bytes();
    }
    for (const OpId input : r.graph.inputs(op)) {
      if (home_of(input) != memory) bytes[memory.index()] += r.graph.type(input).bytes();
    }
  }
  for (std::size_t m = 0; m < bytes.size(); ++m) {
    const Memory& memory = r.machine.memories[m];
    if (memory.kind == MemoryKind::ram && bytes[m] > memory.size_bytes) return false;
  }
  return true;
}

// The first ops of the request, as many as are looked at.
PlacementRequest first_of(const PlacementRequest& request, std::size_t ops) {
  PlacementRequest first = request;
  first.ops = request.ops.first(ops);
  const auto behind = std::ranges::lower_bound(request.waits, ops);
  first.waits = {request.waits.begin(), behind};
  return first;
}

// What may take the place of HEFT's. Empty: there is no such placement.
using Place = std::vector<DeviceId> (*)(const PlacementRequest&);
struct Shorter {
  Duration time;
  Place place;
  std::vector<DeviceId> devices;  // of the first ops
};
constexpr Place others[] = {
    [](const PlacementRequest& r) { return heft_schedule(r, Sight::ahead).devices; },
    [](const PlacementRequest& r) { return on_one_device(r).value_or(std::vector<DeviceId>()); },
    [](const PlacementRequest& r) { return in_blocks(r, Follow::bytes); },
    [](const PlacementRequest& r) { return in_blocks(r, Follow::owners); },
};

}  // namespace

std::vector<DeviceId> shortest_placement(const PlacementRequest& request) {
  HeftSchedule heft = heft_schedule(request);
  if (!request.reachability.allows_all() || request.ops.size() < 2) return std::move(heft.devices);
  ContendedSchedule schedule(request, estimated_max);
  if (heft.is_fastest && !schedule.moves_any(heft.devices)) return std::move(heft.devices);
  const auto end = heft.ends.begin() + static_cast<std::ptrdiff_t>(schedule.size());
  const Duration expected = *std::max_element(heft.ends.begin(), end);
  const Duration by_heft = schedule.makespan(heft.devices);
  if (heft.is_fastest && !is_clearly_longer(by_heft, expected)) return std::move(heft.devices);
  const PlacementRequest first = first_of(request, schedule.size());
  std::vector<Shorter> shorter;
  // Where all are on the fastest devices, looking ahead would change little.
  for (const Place place : std::span(others).subspan(heft.is_fastest ? 1 : 0)) {
    std::vector<DeviceId> devices = place(first);
    if (devices.empty()) continue;
    const Duration time = schedule.makespan(devices);
    if (is_clearly_longer(by_heft, time)) shorter.push_back({time, place, std::move(devices)});
  }
  std::ranges::stable_sort(shorter, {}, &Shorter::time);
  for (auto& [time, place, of_first] : shorter) {
    std::vector<DeviceId> placement =
        of_first.size() == request.ops.size() ? std::move(of_first) : place(request);
    if (surely_fits(request, placement)) return placement;
  }
  return std::move(heft.devices);
}

}  // namespace troupe
