// When one stream of a device is busy, and the gaps between.
#pragma once

#include "core/base/random.hpp"
#include "core/base/time.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace troupe {

// Finds the first gap of a given length, for insertion-based list scheduling. Both functions take
// O(log n) time after n calls of take(): the gaps are a treap (Seidel, Aragon: Randomized Search
// Trees, Algorithmica 16, 1996) in order of time in which each node knows the longest gap below it.
//
// Times are from 0 to longest_duration. Back-to-back work leaves gaps of length 0: that is where an
// op that takes no time may start.
class StreamSchedule {
 public:
  // No work may take less than `shortest`: shorter gaps are not kept.
  explicit StreamSchedule(Duration shortest = Duration{0}) : shortest_(shortest) {}

  // The earliest start, not before `ready`, of a free interval of this length.
  Duration earliest(Duration ready, Duration length) const;
  // Makes an interval busy that earliest() found free.
  void take(Duration start, Duration length);

  // What bounds earliest() of several schedules together.
  struct Bound {
    Duration busy_until = longest_duration;  // of the one that is free for good first
    Duration longest_gap{-1};
    Duration gaps_end{-1};  // of the last gap that is as long as the shortest work

    void add(const Bound& other);
    friend bool operator==(const Bound&, const Bound&) = default;
    // At most earliest() of each.
    Duration earliest(Duration ready, Duration length) const {
      const bool may_fit = longest_gap >= length && ready + length <= gaps_end;
      return may_fit ? ready : std::max(ready, busy_until);
    }
  };
  const Bound& bound() const { return bound_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index none = std::numeric_limits<Index>::max();

  struct Gap {
    Duration start;
    Duration end;
    Duration longest;    // of the gaps in this subtree
    Index left = none;   // earlier gaps
    Index right = none;  // later gaps
  };

  // A gap's is at least those of its children.
  static std::uint32_t priority(Index gap) { return static_cast<std::uint32_t>(mix(gap)); }
  Duration last_end() const;
  Index last_before(Duration time) const;
  Index first_fit(Index root, Duration end, Duration length) const;
  void update(Index gap);
  void add(Duration start, Duration end);
  Index insert(Index root, Index added);
  void split(Index root, Duration start, Index& before, Index& from);
  bool cut(Index root, Duration start, Duration& end);

  std::vector<Gap> gaps_;
  Index root_ = none;
  Bound bound_{.busy_until = Duration{0}};  // free from then on; all gaps are before
  Duration shortest_;
};

}  // namespace troupe
