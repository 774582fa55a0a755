// Which device ends an op first, for placement policies that plan ahead in time.
#pragma once

#include "core/plan/placement_policy.hpp"
#include "core/plan/policies/device_schedules.hpp"
#include "core/plan/policies/transfer_times.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace troupe {

// Chooses as if it tried every device, but tries one of each row in most of the machine.
//
// The inputs of an op are in a few memories. Seen from these, the rest of the machine falls into
// ranges of the memory tree into which all routes go by one memory. Devices of such a range that
// take equal times for all ops, and to whose memories links of equal times lead from the root of
// the tree, get the inputs at the same time: a row of `DeviceSchedules` finds the one that ends the
// op first.
//
// On nodes that are alike, an op takes O(inputs log devices), where free streams and gaps are
// easily told from others. Where no two devices are alike, and within blocks of the memory tree,
// each is tried.
class DeviceSearch {
 public:
  // `op_classes`: one op of each class of ops, to which the numbers of classes below refer. Request
  // and transfer times must outlive the search.
  DeviceSearch(const PlacementRequest& request, TransferTimes& transfers,
               std::span<const OpId> op_classes);

  // An input of an op: where it was made, when, and how large it is.
  struct Source {
    MemoryId memory;
    Duration made{0};
    std::uint64_t bytes = 0;
    const std::set<MemoryId>* copies = nullptr;  // where else it is, if anywhere
  };

  // The mean time of an op of the class over the devices that can run it: 0 if none can, or if
  // the op only moves data.
  double mean_s(std::size_t op_class) const { return classes_[op_class].mean_s; }
  // From now on, ops and transfers start at `time` or later.
  void wait_until(Duration time) { earliest_ = time; }
  // Of an op of the class, on the given device if the op is placed.
  Duration shortest(std::size_t op_class) const { return classes_[op_class].shortest; }
  // Devices of one sort take the same time for each op.
  std::size_t sort_count() const { return row_of_sort_.size(); }
  // Of an op of the class on devices of a sort; none if they can't run it, or the op isn't theirs.
  std::optional<Duration> length(std::size_t op_class, std::size_t sort) const;
  // When all sources can be in `memory`.
  Duration ready(std::span<const Source> sources, MemoryId memory);
  // The first free interval on the device where the op ends first; of equal devices, that with the
  // lowest number. The given device, if the op is placed. No device, if none can run the op and is
  // within reach. `after`, by sort: how long at least what follows takes, if the op is there; what
  // counts is the end of that. Empty: nothing is known of it.
  Opening find(OpId op, std::size_t op_class, std::span<const Source> sources,
               std::span<const Duration> after = {});
  void take(const Opening& opening) { schedules_->take(opening); }

 private:
  // The times of an op.
  struct OpClass {
    OpId op;         // one of the class
    DeviceId given;  // none: it may run on any device that can
    double mean_s = 0;
    Duration shortest = longest_duration;
    std::vector<std::optional<Duration>> length;  // by row; none: they can't run it
  };
  // Rows have their devices in this order, too.
  struct Listed {
    std::uint32_t position;  // of the device's memory in the tree
    DeviceId device;
    friend auto operator<=>(const Listed&, const Listed&) = default;
  };

  OpClass op_class_of(OpId op);
  std::optional<Duration> time_on(DeviceId device, OpId op) const;
  template <class Key>
  void divide(const Key& key);
  void divide_by_way(std::uint64_t bytes);
  void list_devices();
  void look_up_sorts();
  void take_all_streams(DeviceId device, Duration until);
  void cut(std::span<const Source> sources);
  void visit(MemoryId memory);
  void visit_way_up(MemoryId memory);
  MemoryId memory_of(DeviceId device) const { return r_.machine.device(device).memory; }

  const PlacementRequest& r_;
  const MemoryTree& tree_;
  TransferTimes& transfers_;
  std::vector<OpClass> classes_;
  std::set<std::uint64_t> input_bytes_;     // of ops that aren't placed
  Duration shortest_ = longest_duration;    // of all ops
  std::vector<std::uint32_t> row_of_;       // by device
  std::vector<std::uint32_t> sort_of_;      // by row
  std::vector<std::uint32_t> row_of_sort_;  // by sort: one of its rows
  std::vector<Listed> listed_;
  std::vector<std::uint32_t> first_at_;                // by position in the tree: in listed_
  std::vector<std::vector<std::uint32_t>> positions_;  // by row: of its devices, in the tree
  std::optional<DeviceSchedules> schedules_;
  Duration earliest_{0};

  // Of the op to place.
  std::uint32_t visit_ = 0;
  std::vector<std::uint32_t> visited_;  // by memory: the last visit
  std::vector<std::uint32_t> cuts_;     // positions at which ranges begin and end
};

}  // namespace troupe
