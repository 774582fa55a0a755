// How far an actor has come with its share: which items wait for what, and which may start.
#pragma once

#include "core/base/assert.hpp"
#include "core/plan/share.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

// When one item ran. Empty (start == end == never) for an item that didn't.
struct Record {
  Instant start = never;
  Instant end = never;
  Duration busy{0};  // less than end - start where a transfer waited for chunks
  std::uint32_t lane = 0;
  std::uint32_t shortest_chunk_ns = 0xFFFF'FFFF;  // of a transfer; saturates

  static constexpr Instant never = Instant::min();
  bool finished() const { return end != never; }
};

// A share that has been worked on, and what became of its items.
struct ShareRecords {
  Share share;
  std::vector<Record> records;  // by item
};

// Dependency counters of one actor. Notices may come before the share they are for, since they come
// from other actors than the share does; they are kept and counted when it arrives.
class ShareProgress {
 public:
  // Makes `share` the current one; appends the items that may start at once to `ready`, and those
  // that have more chunks waiting to `chunks`. The share before it must be complete.
  void load(Share share, std::vector<std::uint32_t>& ready, std::vector<std::uint32_t>& chunks);

  // A dependency of `item` of window `window` is done, or one of all items of an arrival. Appends
  // an item to `ready` when that was its last one. Further notices for an item (chunks of a paced
  // transfer) are appended to `chunks`.
  void notify(std::uint32_t window, std::uint32_t item, std::vector<std::uint32_t>& ready,
              std::vector<std::uint32_t>& chunks);

  // `item` is done: appends the items of this actor that it released to `ready`, and those of
  // others to `notices`. `self` is this actor. `skip_first`: the first successor knows already.
  void complete(std::uint32_t item, ResourceId self, bool skip_first,
                std::vector<std::uint32_t>& ready, std::vector<ItemRef>& notices);

  const Share& share() const { return share_; }
  std::uint32_t done() const { return done_; }
  std::uint32_t pending() const { return share_.size() - done_; }
  bool is_complete() const { return pending() == 0; }
  // How many notices the item still waits for.
  std::uint32_t waits_for(std::uint32_t item) const { return share_.waits_for[item]; }
  // The first item that isn't done; none where all are.
  std::optional<std::uint32_t> first_pending() const;

  Record& record(std::uint32_t item) { return records_[item]; }
  // Hands over the records of all shares so far and forgets the current one.
  std::vector<ShareRecords> take_records();

  void check_invariants() const;

 private:
  struct Early {
    std::uint32_t window;
    std::uint32_t item;
  };

  void notify_one(std::uint32_t item, std::vector<std::uint32_t>& ready,
                  std::vector<std::uint32_t>& chunks);
  void retire();

  bool loaded_ = false;
  Share share_;
  std::uint32_t done_ = 0;
  std::vector<Record> records_;  // by item
  std::vector<Early> early_;
  std::vector<ShareRecords> history_;  // of the shares before this one
};

// Inline, with what calls it in DeviceLogic: an op of no work costs little more than this.
inline void ShareProgress::complete(std::uint32_t item, ResourceId self, bool skip_first,
                                    std::vector<std::uint32_t>& ready,
                                    std::vector<ItemRef>& notices) {
  TROUPE_ASSERT(share_.waits_for[item] == 0 && done_ < share_.size());
  ++done_;
  for (const ItemRef next : share_.successors_of(item).subspan(skip_first ? 1 : 0)) {
    if (next.resource != self) {
      notices.push_back(next);
    } else if (--share_.waits_for[next.item] == 0) {
      ready.push_back(next.item);
    }
  }
}

}  // namespace troupe
