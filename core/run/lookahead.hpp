// Lookahead: prefetching the memory that the next events will access.
//
// Lookahead pays in a simulation of 64 devices or more. There many devices take turns on one core,
// so that a device's data have left the cache when its next event comes. With lookahead, simulating
// 4,096 columns on 1,024 devices takes half the time (docs/decisions/0018-many-actors.md). A real
// run doesn't use lookahead: each device has its own thread, whose cache keeps the device's data.
//
// Lookahead changes only the speed, not the order of events, their times or results.
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

// A receiver of events to which the next events are announced. An announcement is a sequence of
// steps, numbered from 0. Each step prefetches the cache lines that the next step reads. Steps may
// be left out.
class LookaheadTarget {
 public:
  static constexpr std::uint32_t steps = 3;

  // The work on `slot` is about to finish.
  virtual void before_finish(std::uint32_t slot, std::uint32_t step) = 0;
  // A notice for `item` is about to be handled.
  virtual void before_notice(std::uint32_t item, std::uint32_t step) = 0;

 protected:
  ~LookaheadTarget() = default;
};

// Announces entries of `queue`, whose next entry to be handled is queue[next]. Call it before each
// entry is handled. Each step is called as announce(target, entry, step) for a different entry:
// early steps for later entries. `target_of` returns the target of an entry, or null. The last
// dozen entries are not announced: with so few entries, their data are in the cache.
template <class Queue, class TargetOf, class Announce>
void announce_ahead(const Queue& queue, std::size_t next, TargetOf target_of, Announce announce) {
  constexpr std::size_t distance = 3;  // entries between two steps
  constexpr std::size_t farthest = distance * (LookaheadTarget::steps + 1);
  if (queue.size() - next <= farthest) return;
  // Before step 0: prefetches the first two lines of the target, which step 0 reads.
  if (const LookaheadTarget* const first = target_of(queue[next + farthest])) {
    prefetch_to_read(first);
    prefetch_to_read(reinterpret_cast<const char*>(first) + 64);
  }
  for (std::uint32_t step = 0; step < LookaheadTarget::steps; ++step) {
    const auto& entry = queue[next + farthest - distance * (step + 1)];
    if (LookaheadTarget* const target = target_of(entry)) announce(*target, entry, step);
  }
}

// Announces notices that were sent and not yet handled. For a scheduler that knows in which order
// actors handle their messages. Call from one thread only.
class NoticeLookahead {
 public:
  // From add() to remove(), notices for `resource` are announced to `target`.
  void add(ResourceId resource, LookaheadTarget& target) {
    if (resource.index() >= targets_.size()) targets_.resize(resource.index() + 1);
    targets_[resource.index()].target = &target;
  }
  // Does nothing if another target was added for the resource since.
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
  // An actor is about to handle its messages. Most likely it is the actor whose notice was sent
  // first.
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
    bool is_queued = false;  // only the first notice is queued: the others are handled with it
  };
  struct Sent {
    ResourceId to;
    std::uint32_t item = 0;
  };
  std::vector<Target> targets_;  // by resource
  std::vector<Sent> queue_;
  std::size_t next_ = 0;  // index into queue_
};

// The memory that ShareProgress::complete() of an item reads first. Computed when the work starts,
// since the share is in the cache then, and kept with the work.
struct CompletionPath {
  const Share::Item* item = nullptr;
  const Share::Successor* successors = nullptr;

  CompletionPath() = default;
  CompletionPath(const ActiveShare& part, std::uint32_t i)
      : item(&part.share.items[i]),
        successors(part.share.successors.data() + item->first_successor) {}
};

// Prefetches the memory that ShareProgress accesses first when an item completes or a notice comes.
// Call once for each step of an announcement.
namespace lookahead {

// The lines of a share that every event accesses.
inline void fetch(const ActiveShare& part) {
  prefetch_to_read(&part.ready);
  prefetch_to_read(&part.share.items);
  prefetch_to_read(&part.share.elsewhere);
}

// `start` is the DeviceLogic::Start or LinkLogic::Start that is about to finish.
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
                                         : &share.items[next.place()]);
  }
  start.part->ready.prefetch();
}

// `parts` are the shares under way. The notice is assumed to be for the first one, as most are.
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
