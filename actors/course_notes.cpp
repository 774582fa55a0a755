#include "actors/course_notes.hpp"

#include "core/base/units.hpp"
#include "core/result/summary.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace troupe {
namespace {

// "a, b, c and 2 more"
template <class Id, class NameOf>
std::string first_names(const std::vector<Id>& ids, const NameOf& name_of) {
  constexpr std::size_t named_max = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(ids.size(), named_max); ++i) {
    names += (i == 0 ? "" : ", ") + name_of(ids[i]);
  }
  if (ids.size() > named_max) names += fmt::format(" and {} more", ids.size() - named_max);
  return names;
}

}  // namespace

std::string left_behind(const RunResult& result, Duration grace, bool has_nodes, const Graph& graph,
                        const Machine& machine, const Plan& plan) {
  const std::string when = format_duration(grace) + " after the interrupt";
  std::string notes;
  if (const auto& units = result.under_way; !units.empty()) {
    const std::string names =
        first_names(units, [&](UnitId unit) { return unit_name(graph, machine, plan, unit); });
    notes = units.size() == 1
                ? fmt::format("{} was still under way {}, and was left.", names, when)
                : fmt::format("{} ops and transfers were still under way {}, and were left: {}.",
                              units.size(), when, names);
  }
  const auto& left = result.not_awaited;
  if (has_nodes && !left.empty()) {
    const std::string names =
        first_names(left, [&](ResourceId resource) { return resource_name(machine, resource); });
    const bool is_one = left.size() == 1;
    notes += fmt::format("{}{} had not ended {} work {}, and {} left.", notes.empty() ? "" : " ",
                         names, is_one ? "its" : "their", when, is_one ? "was" : "were");
  }
  return notes;
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

std::size_t unreported_ops(const Plan& plan, const Machine& machine,
                           const std::vector<bool>& lost) {
  const auto is_op = [&plan](UnitId u) {
    return plan.units[u.index()].makes_result && !plan.units[u.index()].is_further;
  };
  const auto is_lost = [&](ResourceId resource) {
    return lost[resource_node(machine, resource).index()];
  };
  std::size_t ops = 0;
  for (const Window& window : plan.windows) {
    if (!window.timed || window.is_replaced) continue;
    for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
      if (is_op(UnitId::at(u)) && is_lost(plan.units[u].ref.resource)) ++ops;
    }
    for (const auto& [resource, share] : window.shares) {  // those that came with their records
      if (!is_lost(resource)) continue;
      for (const Share::Item& item : std::span(share.items).first(share.size())) {
        if (is_op(item.unit) && item.finished()) --ops;
      }
    }
  }
  return ops;
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
