// A scenario made ready to run: where every op runs, which transfers it takes, each actor's shares.
#pragma once

#include "core/base/sliding_vector.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/op_ranges.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/share.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

// Ops that are planned and handed out together.
struct Window {
  std::uint32_t number = 0;  // from 0 on, over the whole run
  ResourceShares shares;     // of the resources that have work
  UnitId first;              // its units are numbered in a row
  std::uint64_t items = 0;   // how many there are
  bool timed = true;
  bool waits = true;  // starts only when all windows before it are done
};

struct Unit {
  ItemRef ref;
  OpId op;  // the op, or the one whose tensor is moved
  bool transfer : 1 = false;
  bool makes_result : 1 = false;  // the op's own tensor, rather than a replica of it elsewhere
  bool paced : 1 = false;         // a transfer that takes chunks as the unit before delivers them
  std::uint16_t chunks = 1;       // of a transfer
};

// Of a scenario all of it; of a stream what is needed still, see WindowPlanner.
struct Plan {
  std::vector<Window> windows;

  SlidingVector<Unit> units;  // of timed windows and of what is prepared before them
  UnitId first_timed;         // units before it are prepared before the clock starts

  // What each unit makes, in MemoryStore order; types are the graph's.
  SlidingVector<ReplicaSpec> replicas;
  // Of each of the graph's types, how many are in RAM at once when ops run in graph order; empty
  // for a simulation.
  std::vector<std::uint64_t> buffers;
  struct Result {
    OpId op;
    ReplicaId replica;
    bool is_kept = true;  // still there when the run ends; else it leaves a digest
  };
  std::vector<Result> results;  // in op order; all of them where they are to be compared
  OpRanges ops;                 // every op of the plan, in graph order
  std::uint64_t timed_ops = 0;

  // Of a stream: where the windows begin that were planned before, the latest at the end.
  struct Earlier {
    UnitId first;
    std::uint32_t window = 0;
  };
  std::vector<Earlier> earlier;
  // Of a unit in one of them.
  std::uint32_t window_of(UnitId unit) const {
    std::size_t e = earlier.size() - 1;
    while (earlier[e].first > unit) --e;
    return earlier[e].window;
  }

  // Hands the shares out, and takes one back.
  std::vector<Window> take_shares();
  void put_back(ResourceId resource, Share share) {
    Window& window = windows[share.window - windows.front().number];
    window.shares.emplace_back(resource, std::move(share));
  }

  std::size_t timed_units() const { return first_timed ? units.size() - first_timed.index() : 0; }
  // In how many parts `from` hands its tensor to `to`; 1 where `to` waits for all of it.
  std::uint32_t chunks_between(UnitId from, UnitId to) const {
    const bool is_route = units[to.index()].paced && from.value + 1 == to.value;
    return is_route ? units[from.index()].chunks : 1;
  }
};

// Finds shares by resource, window by window.
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
  // Of a resource that has one in the window entered last.
  auto& operator[](ResourceId resource) const { return *shares_[resource.index()]; }
  // One past the highest resource that any window entered so far had.
  std::size_t size() const { return shares_.size(); }
  // Null for one that hasn't; for a table that entered a single window.
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
