#include "actors/course_notes.hpp"

#include "core/base/units.hpp"
#include "core/result/summary.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace troupe {

std::string left_behind(const std::vector<UnitId>& units, Duration grace, const Graph& graph,
                        const Machine& machine, const Plan& plan) {
  const auto name = [&](std::size_t i) { return unit_name(graph, machine, plan, units[i]); };
  const std::string when =
      fmt::format("still under way {} after the interrupt, and", format_duration(grace));
  if (units.size() == 1) return fmt::format("{} was {} was left.", name(0), when);
  constexpr std::size_t named_max = 3;
  std::string names = name(0);
  for (std::size_t i = 1; i < std::min(units.size(), named_max); ++i) names += ", " + name(i);
  if (units.size() > named_max) names += fmt::format(" and {} more", units.size() - named_max);
  return fmt::format("{} ops and transfers were {} were left: {}.", units.size(), when, names);
}

std::unordered_set<OpId> finished_ops(const Plan& plan, const Remains& remains) {
  std::unordered_set<OpId> finished;
  for (std::size_t u = 0; u < plan.units.size(); ++u) {
    if (plan.units[u].makes_result && remains.is_made[u]) finished.insert(plan.units[u].op);
  }
  return finished;
}

std::string made_again(const Plan& plan, const std::unordered_set<OpId>& finished,
                       const std::unordered_set<OpId>& unreported) {
  std::uint64_t again = 0;
  std::uint64_t others = 0;
  std::uint64_t unknown = 0;
  std::uint64_t prepared_again = 0;
  for (const Window& window : plan.windows) {
    for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
      const Unit& unit = plan.units[u];
      if (!unit.makes_result || unit.is_further) continue;
      if (!window.timed) {
        prepared_again += finished.contains(unit.op) ? 1 : 0;
        continue;
      }
      ++(finished.contains(unit.op) ? again : others);
      if (unreported.contains(unit.op)) ++unknown;
    }
  }
  const auto are = [](std::uint64_t ops) { return ops == 1 ? "1 is" : fmt::format("{} are", ops); };
  std::string note =
      fmt::format("Of the ops that {} finished, {} made again; of the others, {} planned anew.",
                  unknown == 0 ? "had" : "are known to have", are(again), are(others));
  if (unknown > 0) {
    note += fmt::format(" Lost nodes may have finished up to {} of these, and had not reported it.",
                        unknown);
  }
  if (prepared_again > 0) {
    note += fmt::format(" Of the tensors that were prepared before, {} made again, too.",
                        are(prepared_again));
  }
  return note;
}

TimeAgain time_made_again(const Plan& plan, std::span<const Window> windows,
                          const std::unordered_set<OpId>& unreported) {
  std::unordered_set<OpId> made;
  TimeAgain again;
  for (const Window& window : windows) {
    for (const auto& [resource, share] : window.shares) {
      for (std::uint32_t i = 0; i < share.size(); ++i) {
        const Unit& unit = plan.units[share.items[i].unit.index()];
        const bool makes_op = unit.makes_result && !unit.is_further;
        if (!makes_op || !share.items[i].finished()) continue;
        const bool is_again = !made.insert(unit.op).second;
        if (unit.transfer) continue;  // a copy, by a link
        if (is_again) {
          again.known += share.busy(i);
        } else if (unreported.contains(unit.op)) {
          again.possible += share.busy(i);
        }
      }
    }
  }
  return again;
}

}  // namespace troupe
