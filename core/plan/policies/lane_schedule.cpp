#include "core/plan/policies/lane_schedule.hpp"

#include "core/base/random.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

Duration LaneSchedule::earliest(Duration ready, Duration length) const {
  if (ready >= busy_until_) return ready;
  if (gaps_[root_].longest < length) return busy_until_;
  const Index here = last_before(ready);
  if (here != none && ready + length <= gaps_[here].end) return ready;
  const Index later = first_fit(root_, ready, length);
  return later == none ? busy_until_ : gaps_[later].start;
}

void LaneSchedule::take(Duration start, Duration length) {
  if (start >= busy_until_) {
    if (start == busy_until_ && length == Duration{0}) return;
    add(busy_until_, start);
    busy_until_ = start + length;
    return;
  }
  // At an edge of its gap, an interval of length 0 changes nothing.
  const Gap& gap = gaps_[last_before(start)];
  if (length == Duration{0} && (start == gap.start || start == gap.end)) return;
  Duration end{0};
  cut(root_, start, end);
  add(start + length, end);
}

void LaneSchedule::Bound::add(const Bound& other) {
  busy_until = std::min(busy_until, other.busy_until);
  longest_gap = std::max(longest_gap, other.longest_gap);
  gaps_end = std::max(gaps_end, other.gaps_end);
}

LaneSchedule::Bound LaneSchedule::bound(Duration shortest) const {
  Bound bound{.busy_until = busy_until_};
  if (root_ == none) return bound;
  bound.longest_gap = gaps_[root_].longest;
  const auto has_one = [&](Index below) {
    return below != none && gaps_[below].longest >= shortest;
  };
  for (Index at = root_; has_one(at);) {
    const Gap& gap = gaps_[at];
    if (!has_one(gap.right) && gap.end - gap.start >= shortest) {
      bound.gaps_end = gap.end;
      break;
    }
    at = has_one(gap.right) ? gap.right : gap.left;
  }
  return bound;
}

// The last gap that starts at or before `time`.
LaneSchedule::Index LaneSchedule::last_before(Duration time) const {
  Index found = none;
  for (Index at = root_; at != none;) {
    const Gap& gap = gaps_[at];
    if (gap.start <= time) found = at;
    at = gap.start <= time ? gap.right : gap.left;
  }
  return found;
}

// The first gap that starts after `after` and has this length. At most one subtree that has a gap
// long enough is searched in vain: the one that reaches over `after`.
LaneSchedule::Index LaneSchedule::first_fit(Index root, Duration after, Duration length) const {
  if (root == none || gaps_[root].longest < length) return none;
  const Gap& gap = gaps_[root];
  if (gap.start > after) {
    const Index earlier = first_fit(gap.left, after, length);
    if (earlier != none) return earlier;
    if (gap.end - gap.start >= length) return root;
  }
  return first_fit(gap.right, after, length);
}

void LaneSchedule::update(Index gap) {
  Gap& g = gaps_[gap];
  g.longest = g.end - g.start;
  if (g.left != none) g.longest = std::max(g.longest, gaps_[g.left].longest);
  if (g.right != none) g.longest = std::max(g.longest, gaps_[g.right].longest);
}

void LaneSchedule::add(Duration start, Duration end) {
  const auto added = static_cast<Index>(gaps_.size());
  gaps_.push_back({.start = start,
                   .end = end,
                   .longest = end - start,
                   .priority = static_cast<std::uint32_t>(mix(added))});
  root_ = insert(root_, added);
}

LaneSchedule::Index LaneSchedule::insert(Index root, Index added) {
  if (root == none) return added;
  Gap& gap = gaps_[root];
  Gap& fresh = gaps_[added];
  if (fresh.priority > gap.priority) {
    split(root, fresh.start, fresh.left, fresh.right);
    update(added);
    return added;
  }
  // A gap of length 0 may start with another one and comes first then.
  Index& side = fresh.start <= gap.start ? gap.left : gap.right;
  side = insert(side, added);
  update(root);
  return root;
}

// Into the gaps that start before `start`, and the others.
void LaneSchedule::split(Index root, Duration start, Index& before, Index& from) {
  if (root == none) {
    before = from = none;
    return;
  }
  Gap& gap = gaps_[root];
  if (gap.start < start) {
    before = root;
    split(gap.right, start, gap.right, from);
  } else {
    from = root;
    split(gap.left, start, before, gap.left);
  }
  update(root);
}

// Ends the last gap that starts at or before `start` there; `end` becomes its former end. False if
// there is none.
bool LaneSchedule::cut(Index root, Duration start, Duration& end) {
  if (root == none) return false;
  Gap& gap = gaps_[root];
  if (gap.start > start) {
    if (!cut(gap.left, start, end)) return false;
  } else if (!cut(gap.right, start, end)) {
    end = std::exchange(gap.end, start);
  }
  update(root);
  return true;
}

}  // namespace troupe
