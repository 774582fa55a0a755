// How far an actor has come with its shares: which items wait for what, and which may start.
#pragma once

#include "core/base/assert.hpp"
#include "core/plan/share.hpp"
#include "core/run/ready_set.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

// A share that is being worked on. What is met with every item comes first, in few cache lines.
struct alignas(64) ActiveShare {
  ReadySet ready = {};  // of a device: the items that may start
  std::uint32_t done = 0;
  Share share;
  // Items of later windows that wait for an item of this one.
  std::multimap<std::uint32_t, WindowItem> late = {};

  bool is_complete() const { return done == share.size(); }
};

// Where complete() of an item looks first. Kept with the work under way, for lookahead.hpp.
struct CompletionPath {
  const Share::Item* item = nullptr;
  const Share::Successor* successors = nullptr;

  CompletionPath() = default;
  CompletionPath(const ActiveShare& part, std::uint32_t i)
      : item(&part.share.items[i]),
        successors(part.share.successors.data() + item->first_successor) {}
};

// Dependency counters of one actor. Several shares may be under way, of windows that need not wait
// for each other. Notices may come before the share they are for, since they come from other actors
// than the share does; they are kept and counted when it arrives.
//
// What becomes known goes to a `Sink`:
//   void ready(ActiveShare&, std::uint32_t item);   it may start
//   void chunk(ActiveShare&, std::uint32_t item);   a further notice for an item (of a paced
//   transfer) void notice(const WindowItem&);          an item of another actor: one dependency is
//   done
class ShareProgress {
 public:
  explicit ShareProgress(ResourceId self) : self_(self) {}

  // Takes one more share, of a later window than all before.
  template <class Sink>
  void load(Share share, Sink&& sink);

  // A dependency of `item` of window `window` is done, or one of all items of an arrival.
  template <class Sink>
  void notify(std::uint32_t window, std::uint32_t item, Sink&& sink);

  // `item` is done, its record written. `skip_first`: the first successor knows already.
  template <class Sink>
  void complete(ActiveShare& part, std::uint32_t item, bool skip_first, Sink&& sink);

  // Those under way, in the order of their windows. They stay where they are until taken.
  const std::vector<std::unique_ptr<ActiveShare>>& parts() const { return parts_; }
  std::uint64_t done() const { return done_; }  // items of all shares so far
  // Takes a share out that is complete; none where there is none.
  std::optional<Share> take_complete() {
    return complete_ > 0 ? std::optional<Share>(take_first_complete()) : std::nullopt;
  }
  // Takes out all that is left.
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
  // What waits for a dependency in an earlier window, that one being done.
  template <class Sink>
  void release(const WindowItem& to, Sink& sink) {
    if (to.ref.resource != self_) {
      sink.notice(to);
    } else {
      notify(to.window, to.ref.item, sink);
    }
  }
  Share take_first_complete();
  template <class Sink>
  void release_late(ActiveShare& part, std::uint32_t item, Sink& sink);

  ResourceId self_;
  std::vector<std::unique_ptr<ActiveShare>> parts_;
  std::uint64_t done_ = 0;
  std::uint32_t complete_ = 0;     // parts that are
  std::uint32_t next_window_ = 0;  // above all loaded so far
  std::vector<Early> early_;
};

template <class Sink>
void ShareProgress::load(Share share, Sink&& sink) {
  TROUPE_ASSERT(share.window >= next_window_);
  next_window_ = share.window + 1;
  ActiveShare& part =
      *parts_.emplace_back(std::make_unique<ActiveShare>(ActiveShare{.share = std::move(share)}));
  part.ready.reset(part.share.size());
  // Those that wait for a late edge start later.
  for (const std::uint32_t item : part.share.first_items) {
    if (part.share.items[item].waits_for == 0) sink.ready(part, item);
  }
  for (const Share::LateEdge& edge : part.share.late) {
    const WindowItem to{part.share.window, edge.to};
    // A part that is gone was complete.
    ActiveShare* const from = find(edge.window);
    if (from == nullptr || from->share.items[edge.item].finished()) {
      release(to, sink);
    } else {
      from->share.items[edge.item].has_late = true;
      from->late.emplace(edge.item, to);
    }
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
    if (next.is_elsewhere()) {
      sink.notice({share.window, share.elsewhere[next.place()]});
    } else if (--share.items[next.value].waits_for == 0) {
      sink.ready(part, next.value);
    }
  }
  if (share.items[item].has_late) release_late(part, item, sink);
}

template <class Sink>
void ShareProgress::release_late(ActiveShare& part, std::uint32_t item, Sink& sink) {
  const auto [begin, end] = part.late.equal_range(item);
  for (auto late = begin; late != end; ++late) release(late->second, sink);
  part.late.erase(begin, end);
}

}  // namespace troupe
