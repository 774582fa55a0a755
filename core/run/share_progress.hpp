// The progress of an actor's shares: counts dependencies and reports items that may start.
#pragma once

#include "core/base/assert.hpp"
#include "core/plan/share.hpp"
#include "core/run/issue_ahead.hpp"
#include "core/run/ready_set.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

// A share under way. The members that every item accesses come first, in few cache lines.
struct alignas(64) ActiveShare {
  ReadySet ready = {};  // devices only: the items that may start
  std::uint32_t done = 0;
  Share share;
  // Items of later windows that wait for an item of this one, and watches.
  std::multimap<std::uint32_t, WindowItem> late = {};
  // Links with paced transfers only: the turns that LinkLogic keeps for those without a chunk.
  std::vector<std::uint64_t> turns = {};

  bool is_complete() const { return done == share.size(); }
};

// The dependency counters of one actor. Several shares may be under way, of windows that need not
// wait for each other. A notice may arrive before its share, since another actor sends it. Such
// notices are kept and counted when the share arrives.
//
// Events go to a `Sink`:
//   void ready(ActiveShare&, std::uint32_t item);  // the item may start
//   void chunk(ActiveShare&, std::uint32_t item);  // a paced transfer may move one more chunk
//   void notice(const WindowItem&);                // notify this item of another actor
class ShareProgress {
 public:
  explicit ShareProgress(ResourceId self, IssueAhead ahead = {})
      : self_(self), ahead_(std::move(ahead)) {}

  // Adds a share. Its window must be later than those of all shares added before.
  template <class Sink>
  void load(Share share, Sink&& sink);

  // A dependency of `item` of window `window` is satisfied. `item` may be an arrival: then this
  // holds for each of its items.
  template <class Sink>
  void notify(std::uint32_t window, std::uint32_t item, Sink&& sink);

  // `item` is done. Its record must have been written. With `skip_first`, the first successor is
  // not notified, because notices of chunks have been sent.
  template <class Sink>
  void complete(ActiveShare& part, std::uint32_t item, bool skip_first, Sink&& sink);

  // `item` was issued: notifies the successors that can wait for it. For resources that issue
  // ahead.
  template <class Sink>
  void issue(ActiveShare& part, std::uint32_t item, bool skip_first, Sink&& sink);
  // Like complete(), for an item that was issued: notifies the other successors.
  template <class Sink>
  void complete_issued(ActiveShare& part, std::uint32_t item, bool skip_first, Sink&& sink);
  // Whether a successor of an item of `share` is notified when the item is issued, or when it is
  // done.
  bool tells_at_issue(const Share& share, Share::Successor next) const {
    return ahead_.is_on() && !next.waits_for_room() &&
           ahead_.tells_at_issue(resource_of(share, next));
  }
  const IssueAhead& ahead() const { return ahead_; }

  // Sends a notice to `to` when `item` of window `window` is done, or issued if `to` can wait for
  // it: at once if it is. The share must have been added.
  template <class Sink>
  void add_late(std::uint32_t window, std::uint32_t item, const WindowItem& to, Sink&& sink);

  // The shares under way, in the order of their windows. Their addresses don't change until they
  // are taken.
  const std::vector<std::unique_ptr<ActiveShare>>& parts() const { return parts_; }
  std::uint64_t done() const { return done_; }  // items of all shares so far
  // Removes and returns a complete share. Returns nullopt if there is none.
  std::optional<Share> take_complete() {
    return complete_ > 0 ? std::optional<Share>(take_first_complete()) : std::nullopt;
  }
  // Removes and returns all shares.
  std::vector<Share> take_all();

  void check_invariants() const;

 private:
  struct Early {
    std::uint32_t window;
    std::uint32_t item;
  };

  ActiveShare* find(std::uint32_t window) const {
    for (const auto& part : parts_) {
      if (part->share.window == window) return part.get();
    }
    return nullptr;
  }
  template <class Sink>
  static void notify_one(ActiveShare& part, std::uint32_t item, Sink& sink) {
    std::uint32_t& waits_for = part.share.items[item].waits_for;
    if (waits_for == 0) {
      sink.chunk(part, item);
    } else if (--waits_for == 0) {
      sink.ready(part, item);
    }
  }
  // The dependency of `to` on an item of an earlier window is satisfied.
  template <class Sink>
  void release(const WindowItem& to, Sink& sink) {
    if (to.ref.resource != self_) {
      sink.notice(to);
    } else {
      notify(to.window, to.ref.item, sink);
    }
  }
  // Whether `to`, of a later window, is notified at the issue of an item. A watch is notified when
  // the item is done.
  bool is_late_at_issue(const WindowItem& to) const {
    return to.ref.resource && ahead_.is_on() && ahead_.tells_at_issue(to.ref.resource);
  }
  ResourceId resource_of(const Share& share, Share::Successor next) const {
    return next.is_elsewhere() ? share.elsewhere[next.place()].resource : self_;
  }
  template <class Sink>
  void release(ActiveShare& part, Share::Successor next, Sink& sink) {
    Share& share = part.share;
    if (next.is_elsewhere()) {
      sink.notice({share.window, share.elsewhere[next.place()]});
    } else if (--share.items[next.place()].waits_for == 0) {
      sink.ready(part, next.place());
    }
  }
  Share take_first_complete();
  template <class Sink>
  void release_late(ActiveShare& part, std::uint32_t item, Sink& sink);

  ResourceId self_;
  std::vector<std::unique_ptr<ActiveShare>> parts_;
  std::uint64_t done_ = 0;
  std::uint32_t complete_ = 0;     // number of complete shares in parts_
  std::uint32_t next_window_ = 0;  // one past the latest window added
  IssueAhead ahead_;
  std::vector<Early> early_;
};

template <class Sink>
void ShareProgress::load(Share share, Sink&& sink) {
  TROUPE_ASSERT(share.window >= next_window_);
  next_window_ = share.window + 1;
  ActiveShare& part =
      *parts_.emplace_back(std::make_unique<ActiveShare>(ActiveShare{.share = std::move(share)}));
  part.ready.reset(part.share.size());
  // Items that wait for a late edge are not ready yet.
  for (const std::uint32_t item : part.share.first_items) {
    if (part.share.items[item].waits_for == 0) sink.ready(part, item);
  }
  for (const Share::LateEdge& edge : part.share.late) {
    add_late(edge.window, edge.item, {part.share.window, edge.to}, sink);
  }
  if (part.is_complete()) ++complete_;
  for (const Early& e : std::exchange(early_, {})) notify(e.window, e.item, sink);
}

template <class Sink>
void ShareProgress::notify(std::uint32_t window, std::uint32_t item, Sink&& sink) {
  ActiveShare* const part = find(window);
  if (part == nullptr) {
    TROUPE_ASSERT(window >= next_window_);
    early_.push_back({window, item});
    return;
  }
  if (item < part->share.size()) return notify_one(*part, item, sink);
  for (const std::uint32_t i : part->share.items_of_arrival(item - part->share.size())) {
    notify_one(*part, i, sink);
  }
}

template <class Sink>
void ShareProgress::complete(ActiveShare& part, std::uint32_t item, bool skip_first, Sink&& sink) {
  Share& share = part.share;
  TROUPE_ASSERT(share.items[item].waits_for == 0 && part.done < share.size());
  ++done_;
  if (++part.done == share.size()) ++complete_;
  for (const Share::Successor next : share.successors_of(item).subspan(skip_first ? 1 : 0)) {
    release(part, next, sink);
  }
  if (share.items[item].has_late) release_late(part, item, sink);
}

template <class Sink>
void ShareProgress::issue(ActiveShare& part, std::uint32_t item, bool skip_first, Sink&& sink) {
  Share& share = part.share;
  TROUPE_ASSERT(share.items[item].waits_for == 0 && !share.items[item].is_issued);
  share.items[item].is_issued = true;
  for (const Share::Successor next : share.successors_of(item).subspan(skip_first ? 1 : 0)) {
    if (tells_at_issue(share, next)) release(part, next, sink);
  }
  const auto [begin, end] = part.late.equal_range(item);
  for (auto late = begin; late != end;) {
    const WindowItem to = late->second;
    if (is_late_at_issue(to)) {
      late = part.late.erase(late);
      release(to, sink);
    } else {
      ++late;
    }
  }
}

template <class Sink>
void ShareProgress::complete_issued(ActiveShare& part, std::uint32_t item, bool skip_first,
                                    Sink&& sink) {
  Share& share = part.share;
  TROUPE_ASSERT(share.items[item].is_issued && part.done < share.size());
  ++done_;
  if (++part.done == share.size()) ++complete_;
  for (const Share::Successor next : share.successors_of(item).subspan(skip_first ? 1 : 0)) {
    if (!tells_at_issue(share, next)) release(part, next, sink);
  }
  if (share.items[item].has_late) release_late(part, item, sink);
}

template <class Sink>
void ShareProgress::add_late(std::uint32_t window, std::uint32_t item, const WindowItem& to,
                             Sink&& sink) {
  // If the share is no longer under way, it was complete.
  ActiveShare* const from = find(window);
  if (from == nullptr || from->share.items[item].finished()) return release(to, sink);
  if (is_late_at_issue(to) && from->share.items[item].is_issued) return release(to, sink);
  from->share.items[item].has_late = true;
  from->late.emplace(item, to);
}

template <class Sink>
void ShareProgress::release_late(ActiveShare& part, std::uint32_t item, Sink& sink) {
  const auto [begin, end] = part.late.equal_range(item);
  for (auto late = begin; late != end; ++late) release(late->second, sink);
  part.late.erase(begin, end);
}

}  // namespace troupe
