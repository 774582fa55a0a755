// Links the items of a plan's shares to their successors, and orders them by priority.
#pragma once

#include "core/base/arena_pool.hpp"
#include "core/plan/memory_order.hpp"
#include "core/plan/plan.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

// Fills first_successor and successors of every share, from the inputs of the units and from
// `room`, whose edges also raise `waits_for` of the items at their end. A unit that depends on
// an earlier window is not a successor: either the window starts only after the earlier ones have
// completed, or that one has, or the dependency becomes a late edge. The successors of a window
// share an arena.
void link_successors(Plan& plan, const RoomOrder& room, ArenaPool& arenas);

// The priority that follows from a rank. `load`: what the device with most to do in the window has
// to do, by expected times. Ranks that differ by less than about a 32nd of it are equal, so that
// ops are mostly in the order of the program: see docs/decisions/0060-program-order.md.
inline std::int64_t priority_of(Duration rank, Duration load) {
  return rank.count() >> std::bit_width(static_cast<std::uint64_t>(load.count()) / 32);
}

// The rank of a unit: the longest path from the start of the unit to the end of the plan, as a sum
// of expected times (at least 1 ns for each unit).
class UnitRanks {
 public:
  explicit UnitRanks(const Plan& plan);
  Duration operator[](UnitId unit) const { return ranks_[unit.index() - first_]; }
  // Of a unit of this window, by its place in the plan: units with a higher one come first, those
  // that are equal in unit order.
  std::int64_t priority(std::size_t window, UnitId unit) const {
    return priority_of((*this)[unit], loads_[window]);
  }
  // Whether the items of a resource, or of all devices, are in order of priority in every window.
  // The plan must have had its items in unit order when the ranks were made.
  bool are_in_order(ResourceId resource) const { return !is_out_of_order_[resource.index()]; }
  bool are_in_order(const Machine& machine) const;

 private:
  std::size_t first_ = 0;
  BigVector<Duration> ranks_;
  std::vector<Duration> loads_;        // by window
  std::vector<char> is_out_of_order_;  // by resource
};

// Sorts the items of every device's share by priority (share.hpp). Must be called before
// link_successors().
void order_by_priority(Plan& plan, const Machine& machine, const UnitRanks& rank);

}  // namespace troupe
