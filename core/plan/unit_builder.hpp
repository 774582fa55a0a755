// Makes units from ops: one for each op, and transfers wherever an op reads a tensor that isn't in
// its device's memory.
#pragma once

#include "core/base/arena_pool.hpp"
#include "core/base/prefault.hpp"
#include "core/base/sliding_vector.hpp"
#include "core/cost/cost_model.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/machine/route.hpp"
#include "core/plan/placement.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_options.hpp"
#include "core/plan/replica_table.hpp"
#include "core/plan/windows.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

class UnitBuilder {
 public:
  // The objects referred to must outlive the builder.
  UnitBuilder(const Graph& graph, const Machine& machine, const PlanOptions& options,
              const CostModel& cost, Router& router, const Placements& placements, Plan& plan,
              std::uint32_t first_window)
      : graph_(graph),
        machine_(machine),
        options_(options),
        cost_(cost),
        router_(router),
        placements_(placements),
        plan_(plan),
        next_window_(first_window),
        share_of_(machine.devices.size() + machine.links.size()),
        kernel_classes_(machine.devices.size()) {}

  // Adds a window to the plan, with the units of `ops` in the given order. Items are in unit order.
  // An item's `first_successor` is the number of units in the window that read its output;
  // link_successors() turns the numbers into indices. Throws a usage Error if there is no route, or
  // if no device has a kernel for a copy within a memory.
  void add_window(const WindowOps& ops);

  // Adds a replica of a tensor that is given, not computed. Its unit has no item.
  const ReplicaSpec& add_given(OpId op, MemoryId memory);
  // Windows may read this replica of the plan.
  void add_existing(OpId op, ReplicaId replica);

  // The replica that is the op's result, by op; none if no window contains the op.
  const SlidingVector<ReplicaId>& home() const { return home_; }
  // Replicas of earlier windows that the last window reads. A replica is listed once for each read.
  std::span<const ReplicaId> read_again() const { return read_again_; }
  // Whether the serial time of all units is less than longest_duration.
  bool fits_time() const { return fits_time_; }
  // The arenas of windows, used again when their shares are gone.
  ArenaPool& arenas() const { return *arenas_; }

  // Drops all ops before `op`. No later op may read them.
  void forget_before(OpId op);
  // Frees what only more windows would need, and the room that shares have and don't use. No window
  // may be added after that.
  void finish();

 private:
  // The kernel of an op class, as found last.
  struct ClassKernel {
    std::uint32_t window = 0;
    DeviceId device = {};
    std::uint32_t kernel = 0;
  };

  ResourceId resource(DeviceId d) const { return ResourceId{d.value}; }
  ResourceId resource(LinkId l) const {
    return ResourceId::at(machine_.devices.size() + l.index());
  }
  // Whether the units of the current window take no time.
  bool is_free() const { return options_.needs_costs && !plan_.windows.back().timed; }

  void reserve_shares(const OpRanges& ops);
  void reserve_units(std::size_t count);
  void make_room(std::size_t transfers);
  Share& share(ResourceId r) {
    Share* const known = share_of_[r.index()];
    return known != nullptr ? *known : add_share(r);
  }
  Share& add_share(ResourceId r);

  // `waits_for` counts the dependencies of the next item of `s` within this window.
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
  bool has_existing_values(OpId op) const;

  ReplicaId known_replica(OpId op, MemoryId memory) const;
  ReplicaId replica_in(OpId tensor, MemoryId memory, OpId reader);
  ReplicaId add_transfers(OpId tensor, ReplicaId at, MemoryId target, OpId reader, bool ends_copy);

  const Graph& graph_;
  const Machine& machine_;
  const PlanOptions& options_;
  const CostModel& cost_;
  Router& router_;
  const Placements& placements_;
  Plan& plan_;

  SlidingVector<ReplicaId> home_;  // by op
  ReplicaTable elsewhere_;
  std::vector<ReplicaId> read_again_;
  Duration serial_{0};  // sum of all expected times so far
  bool fits_time_ = true;

  std::uint32_t next_window_;
  // The current window.
  UnitId first_;
  std::vector<Share*> share_of_;                            // by resource
  std::vector<std::vector<std::uint32_t>> kernel_classes_;  // by device: op class of each kernel
  std::vector<ClassKernel> class_kernels_;  // by op class: saves the search in kernel_classes_

  const std::shared_ptr<ArenaPool> arenas_ = std::make_shared<ArenaPool>();

  std::size_t ops_left_ = 0;
  std::optional<Prefault> prefault_;  // of the window's arrays, while they are filled

  OpId group_first_ = {};  // ops of the group found last
  OpId group_end_ = {};
  std::uint32_t group_outputs_ = 1;
};

}  // namespace troupe
