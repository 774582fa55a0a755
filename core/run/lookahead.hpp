// Fetching into the cache what coming events will touch.
//
// It pays where many devices take turns on one core: in a simulation of 64 devices or more, what a
// device touched has left the cache when its next event comes. Simulating 4,096 columns on 1,024
// devices takes half the time with it (docs/decisions/0018-many-actors.md). In a real run each
// device has a thread of its own and meets its own data again and again, so nothing is announced
// there.
//
// Only speed depends on it: the order of events, their times and results are the same without.
#pragma once

#include "core/base/prefetch.hpp"
#include "core/plan/share.hpp"
#include "core/run/share_progress.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

// A receiver of events that is told of those that come soon. An announcement comes in steps, in
// their order: a step fetches the lines that the next step reads. Steps may be left out.
class LookaheadTarget {
 public:
  static constexpr std::uint32_t steps = 3;

  // The work on `lane` is about to finish.
  virtual void before_finish(std::uint32_t lane, std::uint32_t step) = 0;
  // A notice for `item` is about to be handled.
  virtual void before_notice(std::uint32_t item, std::uint32_t step) = 0;

 protected:
  ~LookaheadTarget() = default;
};

// Announces what a queue holds, `queue` from `next` on: for each step calls announce(target, entry,
// step) for the entry whose turn it is. `target_of` gives the target of an entry, or null. The last
// dozen entries are not announced: with so few, everything is in the cache.
template <class Queue, class TargetOf, class Announce>
void announce_ahead(const Queue& queue, std::size_t next, TargetOf target_of, Announce announce) {
  constexpr std::size_t distance = 3;  // entries between two steps
  constexpr std::size_t farthest = distance * (LookaheadTarget::steps + 1);
  if (queue.size() - next <= farthest) return;
  // Before the first step: the target itself, which begins with the two lines that the step reads.
  if (const LookaheadTarget* const first = target_of(queue[next + farthest])) {
    prefetch_to_read(first);
    prefetch_to_read(reinterpret_cast<const char*>(first) + 64);
  }
  for (std::uint32_t step = 0; step < LookaheadTarget::steps; ++step) {
    const auto& entry = queue[next + farthest - distance * (step + 1)];
    if (LookaheadTarget* const target = target_of(entry)) announce(*target, entry, step);
  }
}

// The notices that were sent and not yet handled, for a scheduler that knows in which order actors
// handle their messages. For one thread.
class NoticeLookahead {
 public:
  // From add() to remove() a resource may be announced to.
  void add(ResourceId resource, LookaheadTarget& target) {
    if (resource.index() >= targets_.size()) targets_.resize(resource.index() + 1);
    targets_[resource.index()].target = &target;
  }
  // Nothing happens where another target was added for the resource since.
  void remove(ResourceId resource, const LookaheadTarget& target) {
    if (resource.index() >= targets_.size()) return;
    Target& known = targets_[resource.index()];
    if (known.target == &target) known.target = nullptr;
  }
  // A notice for `item` is sent to `resource`.
  void on_sent(ResourceId resource, std::uint32_t item) {
    if (resource.index() >= targets_.size()) return;
    if (std::exchange(targets_[resource.index()].is_queued, true)) return;
    queue_.push_back({resource, item});
  }
  // An actor is about to handle its messages: most likely the one whose notice was sent first.
  void on_turn() {
    if (next_ == queue_.size()) return;
    announce_ahead(
        queue_, next_, [this](const Sent& sent) { return targets_[sent.to.index()].target; },
        [](LookaheadTarget& target, const Sent& sent, std::uint32_t step) {
          target.before_notice(sent.item, step);
        });
    targets_[queue_[next_++].to.index()].is_queued = false;
  }
  // All notices have been handled.
  void on_all_handled() {
    for (; next_ < queue_.size(); ++next_) targets_[queue_[next_].to.index()].is_queued = false;
    queue_.clear();
    next_ = 0;
  }

 private:
  struct Target {
    LookaheadTarget* target = nullptr;
    bool is_queued = false;  // the first notice counts: the others are handled with it
  };
  struct Sent {
    ResourceId to;
    std::uint32_t item = 0;
  };
  std::vector<Target> targets_;  // by resource
  std::vector<Sent> queue_;
  std::size_t next_ = 0;  // of the queue
};

// What ShareProgress reads and writes first when it completes an item or counts a notice down. One
// call for each step of an announcement.
namespace lookahead {

// The lines that any event of a share needs.
inline void fetch(const ActiveShare& part) {
  prefetch_to_read(&part.ready);
  prefetch_to_read(&part.share.items);
  prefetch_to_read(&part.share.elsewhere);
}

// `start`: the DeviceLogic::Start or LinkLogic::Start that is about to finish.
template <class Start>
void fetch_for_finish(const Start& start, std::uint32_t step) {
  if (step == 0) return prefetch_to_read(&start);
  if (step == 1) {
    fetch(*start.part);
    prefetch_to_read(start.path.item);
    prefetch_to_read(start.path.item + 1);
    prefetch_to_read(start.path.successors);
    return;
  }
  const Share& share = start.part->share;
  for (const Share::Successor next : share.successors_of(start.item)) {
    prefetch_to_read(next.is_elsewhere() ? static_cast<const void*>(&share.elsewhere[next.place()])
                                         : &share.items[next.value]);
  }
  start.part->ready.prefetch();
}

// `parts`: the shares under way, of which the first one mostly gets the notice.
inline void fetch_for_notice(const std::vector<std::unique_ptr<ActiveShare>>& parts,
                             std::uint32_t item, std::uint32_t step) {
  if (parts.empty()) return;
  if (step == 0) return prefetch_to_read(&parts.front());
  const ActiveShare& part = *parts.front();
  if (step == 1) return fetch(part);
  if (item < part.share.size()) {
    prefetch_to_read(&part.share.items[item]);
    prefetch_to_read(&part.share.items[item + 1]);
  }
  prefetch_to_read(part.share.kernels.data());
  part.ready.prefetch();
}

}  // namespace lookahead
}  // namespace troupe
