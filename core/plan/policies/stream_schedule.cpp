#include "core/plan/policies/stream_schedule.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

Duration StreamSchedule::earliest(Duration ready, Duration length) const {
  const Duration start = bound_.earliest(ready, length);
  if (start >= bound_.busy_until) return start;
  const Index fit = first_fit(root_, ready + length, length);
  return fit == none ? bound_.busy_until : std::max(ready, gaps_[fit].start);
}

void StreamSchedule::take(Duration start, Duration length) {
  if (start >= bound_.busy_until) {
    if (start == bound_.busy_until && length == Duration{0}) return;
    add(bound_.busy_until, start);
    bound_.busy_until = start + length;
    return;
  }
  // At an edge of its gap, an interval of length 0 changes nothing.
  const Gap& gap = gaps_[last_before(start)];
  if (length == Duration{0} && (start == gap.start || start == gap.end)) return;
  Duration end{0};
  cut(root_, start, end);
  bound_.longest_gap = gaps_[root_].longest;
  bound_.gaps_end = last_end();
  add(start + length, end);
}

void StreamSchedule::Bound::add(const Bound& other) {
  busy_until = std::min(busy_until, other.busy_until);
  longest_gap = std::max(longest_gap, other.longest_gap);
  gaps_end = std::max(gaps_end, other.gaps_end);
}

// Of the last gap that is long enough for any work.
Duration StreamSchedule::last_end() const {
  const auto has_one = [&](Index below) {
    return below != none && gaps_[below].longest >= shortest_;
  };
  for (Index at = root_; has_one(at);) {
    const Gap& gap = gaps_[at];
    if (!has_one(gap.right) && gap.end - gap.start >= shortest_) return gap.end;
    at = has_one(gap.right) ? gap.right : gap.left;
  }
  return Bound().gaps_end;
}

// The last gap that starts at or before `time`.
StreamSchedule::Index StreamSchedule::last_before(Duration time) const {
  Index found = none;
  for (Index at = root_; at != none;) {
    const Gap& gap = gaps_[at];
    if (gap.start <= time) found = at;
    at = gap.start <= time ? gap.right : gap.left;
  }
  return found;
}

// The first gap that has this length and doesn't end before `end`. At most one subtree that has a
// gap long enough is searched in vain: the one that reaches over `end`.
StreamSchedule::Index StreamSchedule::first_fit(Index root, Duration end, Duration length) const {
  if (root == none || gaps_[root].longest < length) return none;
  const Gap& gap = gaps_[root];
  if (gap.end >= end) {
    const Index earlier = first_fit(gap.left, end, length);
    if (earlier != none) return earlier;
    if (gap.end - gap.start >= length) return root;
  }
  return first_fit(gap.right, end, length);
}

void StreamSchedule::update(Index gap) {
  Gap& g = gaps_[gap];
  g.longest = g.end - g.start;
  if (g.left != none) g.longest = std::max(g.longest, gaps_[g.left].longest);
  if (g.right != none) g.longest = std::max(g.longest, gaps_[g.right].longest);
}

void StreamSchedule::add(Duration start, Duration end) {
  if (end - start < shortest_) return;
  const auto added = static_cast<Index>(gaps_.size());
  gaps_.push_back({.start = start, .end = end, .longest = end - start});
  root_ = insert(root_, added);
  bound_.longest_gap = gaps_[root_].longest;
  bound_.gaps_end = std::max(bound_.gaps_end, end);
}

StreamSchedule::Index StreamSchedule::insert(Index root, Index added) {
  if (root == none) return added;
  Gap& gap = gaps_[root];
  Gap& fresh = gaps_[added];
  if (priority(added) > priority(root)) {
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
void StreamSchedule::split(Index root, Duration start, Index& before, Index& from) {
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
bool StreamSchedule::cut(Index root, Duration start, Duration& end) {
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
