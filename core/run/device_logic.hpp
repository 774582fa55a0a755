// The behaviour of a device: which op starts next on which stream. Events in, decisions out.
#pragma once

#include "core/base/assert.hpp"
#include "core/run/share_progress.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

// Ready ops start in the order of their windows, and there in the order in which they stand in the
// share, which is that of their priority.
class DeviceLogic {
 public:
  struct Start {
    std::uint32_t lane;
    std::uint32_t item;
    ActiveShare* part;
    // For whoever carries it out, to keep: when that began, and what will be looked at when it
    // ends.
    Instant since{};
    CompletionPath path = {};
  };

  DeviceLogic(ResourceId self, int lanes);

  void on_share(Share share);
  void on_notice(std::uint32_t window, std::span<const std::uint32_t> items);
  // The op on `lane` has finished.
  void on_finished(std::uint32_t lane, Instant start, Instant end);
  // The op on `lane` has failed: it stays unfinished and releases nothing.
  void on_failed(std::uint32_t lane);
  // Nothing starts any more; what runs may finish.
  void on_stop() { stopped_ = true; }

  // The next op to start, its lane taken; null while no op is ready or no lane free. It stays what
  // is under way on its lane until that has finished.
  Start* next();
  const Start& under_way(std::uint32_t lane) const { return lanes_[lane].start; }

  // Items of other actors to notify, in the order they were released; the caller empties it.
  std::vector<WindowItem>& notices() { return notices_; }
  // Whether more of them are to be expected soon: there are ops that could start.
  bool expects_more_notices() const { return ready_ > 0 && !stopped_; }
  bool is_idle() const { return busy_ == 0; }
  std::uint32_t busy_lanes() const { return busy_; }
  ShareProgress& progress() { return progress_; }
  const ShareProgress& progress() const { return progress_; }
  void check_invariants() const;

 private:
  // Of ShareProgress.
  struct Sink {
    DeviceLogic& logic;
    void ready(ActiveShare& part, std::uint32_t item) {
      part.ready.insert(item);
      ++logic.ready_;
    }
    void chunk(ActiveShare&, std::uint32_t) { TROUPE_ASSERT(false); }  // devices take whole tensors
    void notice(const WindowItem& to) { logic.notices_.push_back(to); }
  };
  // Written with every op: each in a cache line of its own, away from other devices' lanes.
  struct alignas(64) Lane {
    Start start;
    bool is_busy = false;
  };

  std::vector<Lane> lanes_;  // first: see ResourceActor
  ShareProgress progress_;
  std::uint32_t ready_ = 0;  // items, in all parts
  std::uint32_t busy_ = 0;
  std::vector<WindowItem> notices_;
  bool stopped_ = false;
};

inline void DeviceLogic::on_finished(std::uint32_t lane, Instant start, Instant end) {
  TROUPE_ASSERT(lanes_[lane].is_busy);
  const Start& done = lanes_[lane].start;
  lanes_[lane].is_busy = false;
  --busy_;
  Share::Item& item = done.part->share.items[done.item];
  item.start = start;
  item.end = end;
  item.lane = static_cast<std::uint16_t>(lane);
  progress_.complete(*done.part, done.item, false, Sink{*this});
}

inline DeviceLogic::Start* DeviceLogic::next() {
  if (stopped_ || ready_ == 0 || busy_ == lanes_.size()) return nullptr;
  std::uint32_t free = 0;
  while (lanes_[free].is_busy) ++free;
  auto part = progress_.parts().begin();
  while ((*part)->ready.empty()) ++part;
  Lane& lane = lanes_[free];
  lane.start.lane = free;
  lane.start.item = (*part)->ready.pop();
  lane.start.part = part->get();
  lane.is_busy = true;
  --ready_;
  ++busy_;
  return &lane.start;
}

}  // namespace troupe
