#include "core/run/lost_units.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe {
namespace {

struct Unfinished {
  UnitId unit;
  std::span<const ReplicaId> inputs;
  bool is_at_lost = false;
  bool paces = false;
  bool is_lost = false;
};

// In the order of their units.
std::vector<Unfinished> unfinished_units(std::span<const SentShare> sent,
                                         const std::vector<bool>& is_lost) {
  std::vector<Unfinished> units;
  for (const SentShare& share : sent) {
    for (std::size_t i = 0; i < share.size(); ++i) {
      if (share.has_finished(i)) continue;
      units.push_back({.unit = share.unit(i),
                       .inputs = share.inputs_of(i),
                       .is_at_lost = is_lost[share.resource().index()],
                       .paces = share.paces(i)});
    }
  }
  std::sort(units.begin(), units.end(),
            [](const Unfinished& a, const Unfinished& b) { return a.unit < b.unit; });
  return units;
}

bool makes_lost(std::span<const Unfinished> units, ReplicaId replica) {
  const auto maker = std::lower_bound(
      units.begin(), units.end(), replica.value,
      [](const Unfinished& unit, std::uint32_t number) { return unit.unit.value < number; });
  return maker != units.end() && maker->unit.value == replica.value && maker->is_lost;
}

}  // namespace

std::vector<UnitId> lost_units(std::span<const SentShare> sent, const std::vector<bool>& is_lost) {
  std::vector<Unfinished> units = unfinished_units(sent, is_lost);
  std::vector<UnitId> lost;
  for (std::size_t u = 0; u < units.size(); ++u) {
    Unfinished& unit = units[u];
    // A unit has a higher number than those that it reads.
    unit.is_lost =
        unit.is_at_lost || std::any_of(unit.inputs.begin(), unit.inputs.end(),
                                       [&](ReplicaId input) { return makes_lost(units, input); });
    // The next transfer of a route has the next number, and can't have finished.
    if (unit.paces && units[u + 1].is_at_lost) unit.is_lost = true;
    if (unit.is_lost) lost.push_back(unit.unit);
  }
  return lost;
}

}  // namespace troupe
