// Where every op of a scenario runs.
#pragma once

#include "core/base/sliding_vector.hpp"
#include "core/cost/cost_model.hpp"
#include "core/machine/route.hpp"
#include "core/plan/plan_options.hpp"
#include "core/plan/reachability.hpp"
#include "core/plan/room_search.hpp"
#include "core/plan/windows.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace troupe {

// Whether the user placed the op, or the copy.
inline bool is_given(const Placement& p) {
  return p.device || p.memory;
}

// Explicit placements are kept, but on nodes that are lost. Timed ops without one are placed by the
// policy of the options; ops that are prepared before the clock starts go to the device of their
// first reader. All references must outlive it.
class Placements {
 public:
  Placements(const Graph& graph, const Machine& machine, const CostModel& cost, Router& router,
             const PlanOptions& options)
      : graph_(graph),
        machine_(machine),
        cost_(cost),
        router_(router),
        options_(options),
        reachability_(machine) {}

  // The tensor, of an op in no window, is in this memory, wherever the op was placed. If it is in
  // several, ops are placed as if it were only in the first.
  void locate(OpId op, MemoryId memory);
  // The tensor of such an op is needed until the end, or so if no window reads it.
  void keep(OpId op) { keep_.insert(op); }
  void keep_unread(OpId op) { keep_unread_.insert(op); }

  // The op runs on this device, if all timed ops have such a device or one that the user gave.
  void stay(OpId op, DeviceId device);

  // Whether the device isn't lost, has a kernel for the op and, if that is timed, its time is known
  // there.
  bool can_run(DeviceId device, OpId op, bool timed) const;

  // Throws a usage Error if a device lacks an op's kernel, no device has it, or no device that has
  // it can exchange tensors with the op's inputs and readers. `busy`: as in PlacementRequest.
  void place(const std::vector<WindowOps>& windows, std::span<const Duration> busy = {});

  // Frees what is known of ops before `op`; of() must not be called for them any more.
  void forget_before(OpId op) { chosen_.forget_before(std::min(op.index(), chosen_.size())); }

  // A device, or only the target memory for a copy that links carry out. `op` must be in a window
  // that was placed.
  Placement of(OpId op) const {
    const Placement& given = this->given(op);
    return is_given(given) ? given : Placement{.device = chosen_[op.index()]};
  }
  // A copy to a memory that is lost: any memory will do, and it may take no time.
  bool is_needless(OpId op) const {
    return !options_.lost_nodes.empty() && graph_.kind(op).moves_data;
  }
  // By the user, or by stay(), and not lost.
  const Placement& given(OpId op) const {
    const Placement& given = graph_.placement(op);
    if (is_given(given) && (options_.lost_nodes.empty() || !is_lost(given))) return given;
    return op.index() < stays_.size() ? stays_[op.index()] : nowhere;
  }

 private:
  static inline const Placement nowhere{};

  bool is_lost(NodeId node) const {
    return node && node.index() < options_.lost_nodes.size() && options_.lost_nodes[node.index()];
  }
  bool is_lost(const Placement& p) const {
    if (p.device) return is_lost(machine_.device(p.device).node);
    return p.memory && is_lost(machine_.memory(p.memory).node);
  }
  bool is_placed(OpId op) const { return is_given(given(op)) || chosen_[op.index()]; }
  // None for an op without a placement.
  MemoryId memory_of(OpId op) const {
    if (op.index() < located_.size() && located_[op.index()]) return located_[op.index()];
    const Placement p = of(op);
    return p.device ? machine_.device(p.device).memory : p.memory;
  }
  bool lacks_rate(DeviceId device, OpId op) const;
  bool computes_nothing(OpId op) const;
  std::string_view missing_rate(OpId op) const;
  std::string rate_remedy(OpId op, std::string_view whom) const;
  void check_device(OpId op, bool timed) const;
  void check_exists(OpId op, const Placement& given) const;
  [[noreturn]] void nobody_can(OpId op) const;
  // `all`: the timed ops of all windows.
  void place_timed(const std::vector<WindowOps>& windows, std::span<const OpId> all,
                   std::span<const Duration> busy);
  void place_further_outputs(std::span<const OpId> ops);
  void place_prepared(std::span<const OpId> ops, std::span<const OpId> timed);
  DeviceId choose(OpId op, const std::vector<DeviceId>& wanted) const;
  void seek_room(const std::vector<WindowOps>& windows);

  const Graph& graph_;
  const Machine& machine_;
  const CostModel& cost_;
  Router& router_;
  const PlanOptions& options_;
  Reachability reachability_;
  std::vector<MemoryId> located_;  // by op, where any was
  std::vector<RoomRequest::Existing> existing_;
  std::unordered_set<OpId> keep_;
  std::unordered_set<OpId> keep_unread_;
  std::vector<Placement> stays_;    // by op, where any stays
  SlidingVector<DeviceId> chosen_;  // by op, where any has no placement of its own
};

}  // namespace troupe
