// The behaviour of a device: which op starts next on which stream. Events in, decisions out.
#pragma once

#include "core/base/assert.hpp"
#include "core/run/lookahead.hpp"
#include "core/run/records.hpp"
#include "core/run/share_progress.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

// Ready ops start in the order of their windows. Within a window they start in the order of the
// share, which is the order of priority. Further outputs come before all others: they take no time.
//
// A device that issues ahead has several ops of each stream under way, each in a slot of its own.
// Slots 0 … depth - 1 are those of the first stream. Else a stream is a slot.
class DeviceLogic {
 public:
  struct Start {
    std::uint32_t slot;
    std::uint32_t item;
    ActiveShare* part;
    Instant since{};  // when the op began: on_started()
    bool is_issued = false;
    // The memory that complete() will read first: set by the actor that carries out the op.
    CompletionPath path = {};
  };

  DeviceLogic(ResourceId self, int streams, IssueAhead ahead = {});

  void on_share(Share share);
  void on_notice(std::uint32_t window, std::span<const std::uint32_t> items);
  // When the item has finished, notices() gets an entry for it without a resource: at once if it
  // has. Its share must have come.
  void on_watch(std::uint32_t window, std::uint32_t item) {
    progress_.add_late(window, item,
                       WindowItem{.window = window, .ref = {.resource = {}, .item = item}},
                       Sink{*this});
  }
  // The op that next() has put on `slot` begins.
  void on_started(std::uint32_t slot, Instant now);
  // The op on `slot` was issued: it will begin when what it depends on is done.
  void on_issued(std::uint32_t slot);
  // The op on `slot` has finished.
  void on_finished(std::uint32_t slot, Instant end);
  // The op on `slot` has failed. The op stays unfinished, and no successor is notified.
  void on_failed(std::uint32_t slot);
  // No more ops start. Ops under way may finish.
  void on_stop() { stopped_ = true; }

  // Takes the next ready op and a free slot of the stream with the fewest ops. Returns null if no
  // op is ready or no slot is free. The result stays valid, as under_way(slot), until the op has
  // finished.
  Start* next();
  const Start& under_way(std::uint32_t slot) const { return slots_[slot].start; }
  bool is_busy(std::uint32_t slot) const { return slots_[slot].is_busy; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }

  // Items of other actors to notify, in the order they were released. The caller must clear the
  // list.
  std::vector<WindowItem>& notices() { return notices_; }
  // Whether more notices are likely soon, because there are ready ops.
  bool expects_more_notices() const { return ready_ > 0 && !stopped_; }
  bool is_idle() const { return busy_ == 0; }
  std::uint32_t busy_slots() const { return busy_; }
  ShareProgress& progress() { return progress_; }
  const ShareProgress& progress() const { return progress_; }
  void check_invariants() const;

 private:
  // Receives events of ShareProgress.
  struct Sink {
    DeviceLogic& logic;
    void ready(ActiveShare& part, std::uint32_t item) {
      ++logic.ready_;
      if (part.share.items[item].is_further) {
        logic.further_.push_back({&part, item});
      } else {
        part.ready.insert(item);
      }
    }
    void chunk(ActiveShare&, std::uint32_t) { TROUPE_ASSERT(false); }  // only links receive chunks
    void notice(const WindowItem& to) { logic.notices_.push_back(to); }
  };
  // Written with every op. Each slot has its own cache line, not shared with other devices.
  struct alignas(64) Slot {
    Start start;
    bool is_busy = false;
  };
  struct Further {
    ActiveShare* part;
    std::uint32_t item;
  };

  std::uint32_t stream_of(std::uint32_t slot) const { return slot / depth_; }
  // The first slot of the stream that has the fewest ops.
  std::uint32_t least_loaded() const;
  void finish_issued(Slot& slot, Instant end);

  std::vector<Slot> slots_;  // first, for lookahead: see ResourceActor
  ShareProgress progress_;
  std::vector<Further> further_;  // ready further outputs
  std::uint32_t depth_ = 1;       // slots of a stream
  std::uint32_t ready_ = 0;       // items, in all parts and in further_
  std::uint32_t busy_ = 0;
  std::vector<WindowItem> notices_;
  bool stopped_ = false;

  // Of a device that issues ahead.
  std::vector<std::uint32_t> under_way_;       // ops, by stream
  std::vector<std::vector<Further>> outputs_;  // further outputs that were issued, by slot
};

inline void DeviceLogic::on_started(std::uint32_t slot, Instant now) {
  Start& start = slots_[slot].start;
  start.since = now;
  record_start(start.part->share.items[start.item], now);
}

inline void DeviceLogic::on_finished(std::uint32_t slot, Instant end) {
  TROUPE_ASSERT(slots_[slot].is_busy);
  const Start& done = slots_[slot].start;
  slots_[slot].is_busy = false;
  --busy_;
  if (done.is_issued) return finish_issued(slots_[slot], end);
  Share::Item& item = done.part->share.items[done.item];
  item.track = static_cast<std::uint16_t>(slot);
  record_end(item, end);
  progress_.complete(*done.part, done.item, false, Sink{*this});
}

inline DeviceLogic::Start* DeviceLogic::next() {
  if (stopped_ || ready_ == 0 || busy_ == slots_.size()) return nullptr;
  std::uint32_t free = depth_ == 1 ? 0 : least_loaded();
  while (slots_[free].is_busy) ++free;
  Slot& slot = slots_[free];
  slot.start.slot = free;
  if (further_.empty()) {
    auto part = progress_.parts().begin();
    while ((*part)->ready.empty()) ++part;
    slot.start.item = (*part)->ready.pop();
    slot.start.part = part->get();
  } else {
    slot.start.item = further_.back().item;
    slot.start.part = further_.back().part;
    further_.pop_back();
  }
  slot.is_busy = true;
  --ready_;
  ++busy_;
  return &slot.start;
}

}  // namespace troupe
