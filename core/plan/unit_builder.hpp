// Units from ops: an item for each op, and transfers wherever an op reads a tensor that its
// device's memory doesn't hold.
#pragma once

#include "core/base/prefault.hpp"
#include "core/base/sliding_vector.hpp"
#include "core/cost/cost_model.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/machine/route.hpp"
#include "core/plan/placement.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_options.hpp"
#include "core/plan/windows.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace troupe {

class UnitBuilder {
 public:
  // All references must outlive it.
  UnitBuilder(const Graph& graph, const Machine& machine, const PlanOptions& options,
              const CostModel& cost, Router& router, const Placements& placements, Plan& plan)
      : graph_(graph),
        machine_(machine),
        options_(options),
        cost_(cost),
        router_(router),
        placements_(placements),
        plan_(plan),
        share_of_(machine.devices.size() + machine.links.size()),
        kernel_classes_(machine.devices.size()) {}

  // Adds a window with the units of these ops, in the order they are given, to the plan, its items
  // in unit order; their `first_successor` is the number of units in the window that read what they
  // make (link_successors makes starts of that). Throws a usage Error where there is no route, or a
  // copy that nobody can carry out.
  void add_window(const WindowOps& ops);

  // Where each op's own result is; none for ops of no window.
  const SlidingVector<ReplicaId>& home() const { return home_; }
  // What the last window reads of earlier ones; may be there several times.
  std::span<const ReplicaId> read_again() const { return read_again_; }
  // Whether all that was added would take less than longest_duration one after the other.
  bool fits_time() const { return fits_time_; }

  // Ops before `op` are not read any more.
  void forget_before(OpId op);

 private:
  // The kernel of the ops of one class, where it was looked up last.
  struct ClassKernel {
    std::uint32_t window = 0;
    DeviceId device = {};
    std::uint32_t kernel = 0;
  };

  ResourceId resource(DeviceId d) const { return ResourceId{d.value}; }
  ResourceId resource(LinkId l) const {
    return ResourceId::at(machine_.devices.size() + l.index());
  }
  SourcePlace place_of(OpId op) const { return graph_.group(graph_.group_of(op)).place; }
  // Whether the window at hand takes no time.
  bool is_free() const { return options_.needs_costs && !plan_.windows.back().timed; }

  void reserve_shares(const OpRanges& ops);
  void reserve_units(std::size_t count);
  void make_room(std::size_t transfers);
  Share& share(ResourceId r) {
    Share* const known = share_of_[r.index()];
    return known != nullptr ? *known : add_share(r);
  }
  Share& add_share(ResourceId r);

  // `waits_for` counts what the next item of `s` waits for in this window.
  void read(ReplicaId input, ResourceId r, Share& s, std::uint32_t& waits_for);
  Share::Item& add_unit(ResourceId r, Share& s, Unit unit, std::uint32_t waits_for,
                        MemoryId target);
  void read_earlier(ReplicaId input, ResourceId r);
  void count_time(Duration expected) {
    fits_time_ = fits_time_ && expected < longest_duration - serial_;
    if (fits_time_) serial_ += expected;
  }

  void add_kernel(OpId op, DeviceId device);
  std::uint32_t kernel_in(Share& s, DeviceId device, OpId op);
  std::uint32_t find_kernel(Share& s, DeviceId device, OpId op);
  std::uint32_t index_of(OpId op);
  void add_copy(OpId op, MemoryId target);
  DeviceId copier_at(MemoryId memory, OpId op) const;

  static std::uint64_t key(OpId op, MemoryId memory) {
    return (std::uint64_t{op.value} << 32) | memory.value;
  }
  ReplicaId known_replica(OpId op, MemoryId memory) const;
  ReplicaId replica_in(OpId tensor, MemoryId memory, OpId reader);
  ReplicaId add_transfers(OpId tensor, MemoryId target, OpId reader, bool ends_copy);
  std::uint32_t chunk_count(std::span<const Hop> route, std::uint64_t bytes) const;

  const Graph& graph_;
  const Machine& machine_;
  const PlanOptions& options_;
  const CostModel& cost_;
  Router& router_;
  const Placements& placements_;
  Plan& plan_;

  SlidingVector<ReplicaId> home_;                           // by op
  std::unordered_map<std::uint64_t, ReplicaId> elsewhere_;  // by op and memory
  std::vector<ReplicaId> read_again_;
  Duration serial_{0};  // sum of all expected times so far
  bool fits_time_ = true;

  std::uint32_t next_window_ = 0;
  // Of the window at hand.
  UnitId first_;
  std::vector<Share*> share_of_;                            // by resource
  std::vector<std::vector<std::uint32_t>> kernel_classes_;  // by device: of its share's kernels
  std::vector<ClassKernel> class_kernels_;  // by class, found without looking through those

  std::size_t ops_left_ = 0;
  std::optional<Prefault> prefault_;  // while it is filled

  OpId group_first_ = {};  // ops of the group last looked up
  OpId group_end_ = {};
};

}  // namespace troupe
