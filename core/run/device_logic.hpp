// The behaviour of a device: which op starts next on which stream. Events in, decisions out.
#pragma once

#include "core/base/assert.hpp"
#include "core/run/ready_set.hpp"
#include "core/run/share_progress.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

// Ready ops start in the order in which they stand in the share, which is that of their priority.
class DeviceLogic {
 public:
  struct Start {
    std::uint32_t lane;
    std::uint32_t item;
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
  const Start* next();
  const Start& under_way(std::uint32_t lane) const { return lanes_[lane].start; }

  // Items of other actors to notify, in the order they were released; the caller empties it.
  std::vector<ItemRef>& notices() { return notices_; }
  bool is_idle() const { return busy_ == 0; }
  std::uint32_t busy_lanes() const { return busy_; }
  ShareProgress& progress() { return progress_; }
  const ShareProgress& progress() const { return progress_; }
  void check_invariants() const;

 private:
  void queue_released();

  ResourceId self_;
  ShareProgress progress_;
  ReadySet ready_;
  std::vector<std::uint32_t> released_;  // not yet among the ready
  std::vector<std::uint32_t> chunks_;    // always empty: devices take whole tensors
  struct Lane {
    Start start;
    bool is_busy = false;
  };
  std::vector<Lane> lanes_;
  std::uint32_t busy_ = 0;
  std::vector<ItemRef> notices_;
  bool stopped_ = false;
};

inline void DeviceLogic::on_finished(std::uint32_t lane, Instant start, Instant end) {
  TROUPE_ASSERT(lanes_[lane].is_busy);
  const std::uint32_t item = lanes_[lane].start.item;
  lanes_[lane].is_busy = false;
  --busy_;
  progress_.record(item) = {.start = start, .end = end, .busy = end - start, .lane = lane};
  progress_.complete(item, self_, false, released_, notices_);
  queue_released();
}

inline const DeviceLogic::Start* DeviceLogic::next() {
  if (stopped_ || ready_.empty() || busy_ == lanes_.size()) return nullptr;
  std::uint32_t free = 0;
  while (lanes_[free].is_busy) ++free;
  Lane& lane = lanes_[free];
  lane.start.lane = free;
  lane.start.item = ready_.pop();
  lane.is_busy = true;
  ++busy_;
  return &lane.start;
}

inline void DeviceLogic::queue_released() {
  TROUPE_ASSERT(chunks_.empty());
  for (const std::uint32_t item : released_) ready_.insert(item);
  released_.clear();
}

}  // namespace troupe
