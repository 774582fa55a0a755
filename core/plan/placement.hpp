// Where every op of a scenario runs.
#pragma once

#include "core/base/sliding_vector.hpp"
#include "core/machine/route.hpp"
#include "core/plan/plan_options.hpp"
#include "core/plan/windows.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace troupe {

// Whether it was given with the op.
inline bool is_given(const Placement& p) {
  return p.device || p.memory;
}

// Explicit placements are kept; ops without one are placed by HEFT, and among what is prepared
// before the clock starts with their first reader. All references must outlive it.
class Placements {
 public:
  Placements(const Graph& graph, const Machine& machine, Router& router, const PlanOptions& options)
      : graph_(graph), machine_(machine), router_(router), options_(options) {}

  // Throws a usage Error where a device lacks an op's kernel or no device has it.
  void place(const std::vector<WindowOps>& windows);

  // Ops before `op` are not asked for any more.
  void forget_before(OpId op) { chosen_.forget_before(std::min(op.index(), chosen_.size())); }

  // A device, or none with the target memory for a copy that links carry out. Of ops in the
  // windows.
  Placement of(OpId op) const {
    const Placement& given = graph_.placement(op);
    return is_given(given) ? given : Placement{.device = chosen_[op.index()]};
  }

 private:
  bool is_placed(OpId op) const { return is_given(graph_.placement(op)) || chosen_[op.index()]; }
  bool can_run(DeviceId device, OpId op, bool timed) const;
  bool lacks_rate(DeviceId device, OpId op) const;
  SourcePlace place_of(OpId op) const { return graph_.group(graph_.group_of(op)).place; }
  void check_device(OpId op, bool timed) const;
  [[noreturn]] void nobody_can(OpId op) const;
  void place_timed(std::span<const OpId> ops);
  void place_prepared(std::span<const OpId> ops, std::span<const OpId> timed);
  DeviceId choose(OpId op, const std::vector<DeviceId>& wanted) const;

  const Graph& graph_;
  const Machine& machine_;
  Router& router_;
  const PlanOptions& options_;
  SlidingVector<DeviceId> chosen_;  // by op, where any has no placement of its own
};

}  // namespace troupe
