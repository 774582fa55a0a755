// The behaviour of a device: which op starts next on which stream. Events in, decisions out.
#pragma once

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

  // The next op to start, its lane taken; none while no op is ready or no lane free.
  std::optional<Start> next();

  // Items of other actors to notify, in the order they were released; the caller empties it.
  std::vector<ItemRef>& notices() { return notices_; }
  std::uint32_t item_on(std::uint32_t lane) const { return *lanes_[lane]; }
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
  std::vector<std::optional<std::uint32_t>> lanes_;
  std::uint32_t busy_ = 0;
  std::vector<ItemRef> notices_;
  bool stopped_ = false;
};

}  // namespace troupe
