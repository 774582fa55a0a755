// Names the units of a plan: "y on gpu0", "x over pcie0".
#pragma once

#include "core/plan/plan.hpp"
#include "core/plan/share_links.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace troupe::testing {

class PlanView {
 public:
  PlanView(const Graph& graph, const Machine& machine, const Plan& plan)
      : graph_(graph), machine_(machine), plan_(plan) {}

  std::string name(UnitId u) const {
    const Unit& unit = plan_.units[u.index()];
    const std::size_t r = unit.ref.resource.index();
    const std::size_t devices = machine_.devices.size();
    return graph_.name(unit.op) + (unit.transfer ? " over " : " on ") +
           (r < devices ? machine_.devices[r].name : machine_.links[r - devices].name);
  }
  std::vector<std::string> units() const {
    std::vector<std::string> names;
    for (std::size_t u = 0; u < plan_.units.size(); ++u) names.push_back(name(UnitId::at(u)));
    return names;
  }
  // The first unit of this name. There must be one.
  UnitId find(const std::string& wanted) const {
    const std::vector<std::string> names = units();
    return UnitId::at(
        static_cast<std::size_t>(std::find(names.begin(), names.end(), wanted) - names.begin()));
  }
  std::vector<std::string> predecessors(const std::string& of) const {
    std::vector<std::string> names;
    const UnitId u = find(of);
    for (const ReplicaId input : share(u).inputs_of(item(u).item)) {
      names.push_back(name(maker_of(input)));
    }
    return names;
  }
  // The share that contains `u`.
  const Share& share(UnitId u) const {
    for (const Window& window : plan_.windows) {
      for (const auto& [resource, share] : window.shares) {
        if (resource != item(u).resource || item(u).item >= share.size()) continue;
        if (share.items[item(u).item].unit == u) return share;
      }
    }
    std::abort();
  }
  ItemRef item(UnitId u) const { return plan_.units[u.index()].ref; }
  const Share::Move& move(const std::string& of) const {
    const UnitId u = find(of);
    return share(u).move(item(u).item);
  }
  Duration rank(const std::string& of) const { return UnitRanks(plan_)[find(of)]; }
  // The memory of a unit's output.
  MemoryId output_memory(UnitId u) const { return plan_.replicas[u.index()].memory; }

 private:
  const Graph& graph_;
  const Machine& machine_;
  const Plan& plan_;
};

}  // namespace troupe::testing
