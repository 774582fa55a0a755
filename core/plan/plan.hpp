// The plan of a scenario: the device of every op, the transfers between memories, and the share of
// every device and link.
#pragma once

#include "core/base/sliding_vector.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/op_ranges.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/share.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace troupe {

// Units that are planned and sent to the actors together.
struct Window {
  std::uint32_t number = 0;  // counted from 0 over the whole run
  ResourceShares shares;     // only of resources that have work
  UnitId first;              // the window's units are numbered consecutively from here
  std::uint64_t items = 0;   // number of units
  bool timed = true;
  bool waits = true;         // starts only after all earlier windows have completed
  bool is_replaced = false;  // later windows plan anew what it has not finished

  Window without_shares() const {
    return {.number = number,
            .shares = {},
            .first = first,
            .items = items,
            .timed = timed,
            .waits = waits,
            .is_replaced = is_replaced};
  }
};

struct Unit {
  ItemRef ref;
  OpId op;  // of a transfer: the op whose tensor is moved
  bool transfer : 1 = false;
  bool makes_result : 1 = false;  // makes the op's result, not a further replica of it
  bool paced : 1 = false;         // a transfer that receives its chunks from the unit before it
  bool is_further : 1 = false;    // a further output: its maker's unit is before all of them
  std::uint16_t chunks = 1;       // of a transfer
};

// Holds all windows of a scenario. In a stream it holds only what later windows still need (see
// WindowPlanner).
struct Plan {
  std::vector<Window> windows;  // none while the actors have them

  SlidingVector<Unit> units;  // of all windows, timed or not
  UnitId first_timed;         // units before it are prepared before the clock starts

  // The replica that each unit makes, numbered as in MemoryStore. `type` is an index into the types
  // of the graph.
  SlidingVector<ReplicaSpec> replicas;
  // By type of the graph: the largest number of replicas that are in RAM at the same time when ops
  // run in graph order. Empty for a simulation.
  std::vector<std::uint64_t> buffers;
  struct Result {
    OpId op;
    ReplicaId replica;
    bool is_kept = true;  // until the run ends; a result that isn't kept leaves a digest
  };
  std::vector<Result> results;  // in op order; all timed ones if they are to be compared
  OpRanges ops;                 // every op of the plan, in graph order
  std::uint64_t timed_ops = 0;

  // The windows that were planned by earlier calls and may still be running, in order of their
  // numbers.
  struct Earlier {
    UnitId first;
    std::uint32_t window = 0;
  };
  std::vector<Earlier> earlier;
  // Whether `unit` is in a window that has completed.
  bool is_done(UnitId unit) const { return earlier.empty() || unit < earlier.front().first; }
  // `unit` must belong to one of the `earlier` windows.
  std::uint32_t window_of(UnitId unit) const {
    std::size_t e = earlier.size() - 1;
    while (earlier[e].first > unit) --e;
    return earlier[e].window;
  }

  std::size_t timed_units() const { return first_timed ? units.size() - first_timed.index() : 0; }
  std::size_t timed_further = 0;  // of the timed units, those that are further outputs
  // One past the last output of the unit: its further outputs are the units right behind it.
  std::size_t outputs_end(UnitId unit) const {
    std::size_t end = unit.index() + 1;
    while (end < units.size() && units[end].is_further) ++end;
    return end;
  }
  // Whether `to` moves on what `from` moves, chunk by chunk. Else it waits for the whole tensor.
  bool moves_on(UnitId from, UnitId to) const {
    return units[to.index()].paced && from.value + 1 == to.value;
  }
};

// Shares by resource, for one window after the other.
template <class WindowType = const Window>
class ShareTable {
 public:
  explicit ShareTable(WindowType& window) { enter(window); }
  ShareTable() = default;

  void enter(WindowType& window) {
    for (auto& [resource, share] : window.shares) {
      if (resource.index() >= shares_.size()) shares_.resize(resource.index() + 1, nullptr);
      shares_[resource.index()] = &share;
    }
  }
  // `resource` must have a share in the window entered last.
  auto& operator[](ResourceId resource) const { return *shares_[resource.index()]; }
  // One more than the highest resource number in any window entered so far.
  std::size_t size() const { return shares_.size(); }
  // Returns null if `resource` has no share. The table must have entered one window only.
  auto* find(ResourceId resource) const {
    return resource.index() < shares_.size() ? shares_[resource.index()] : nullptr;
  }

 private:
  using SharePointer = decltype(&std::declval<WindowType&>().shares.front().second);
  std::vector<SharePointer> shares_;
};

inline UnitId maker_of(ReplicaId replica) {
  return UnitId{replica.value};
}

}  // namespace troupe
