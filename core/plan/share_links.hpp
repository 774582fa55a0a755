// What the items of a plan's shares know of those that come after them.
#pragma once

#include "core/plan/memory_order.hpp"
#include "core/plan/plan.hpp"

#include <span>
#include <vector>

namespace troupe {

// Fills first_successor and successors of every share from the inputs of the units and from `room`,
// whose edges also add to what items wait for. What waits for an earlier window is not a successor:
// windows follow each other whole, or else it is a late edge.
void link_successors(Plan& plan, std::span<const RoomEdge> room);

// Of every unit in the plan's windows, expected times (at least 1 ns each) along the longest way
// from its start to the end of the plan.
class UnitRanks {
 public:
  explicit UnitRanks(const Plan& plan);
  Duration operator[](UnitId unit) const { return ranks_[unit.index() - first_]; }
  // Whether in all shares of a resource, or of all devices, the longest way comes first as they
  // are. For plans whose items stand in unit order.
  bool are_in_order(ResourceId resource) const { return !is_out_of_order_[resource.index()]; }
  bool are_in_order(const Machine& machine) const;

 private:
  std::size_t first_ = 0;
  BigVector<Duration> ranks_;
  std::vector<char> is_out_of_order_;  // by resource
};

// Puts the items of every device's share in order of priority (share.hpp), by the rank of their
// units. For plans whose items have no successors yet.
void order_by_priority(Plan& plan, const Machine& machine, const UnitRanks& rank);

}  // namespace troupe
