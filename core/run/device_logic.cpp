#include "core/run/device_logic.hpp"

#include "core/base/assert.hpp"

namespace troupe {

DeviceLogic::DeviceLogic(ResourceId self, int lanes)
    : lanes_(static_cast<std::size_t>(lanes)), progress_(self) {
  TROUPE_ASSERT(lanes > 0);
}

void DeviceLogic::on_share(Share share) {
  progress_.load(std::move(share), Sink{*this});
}

void DeviceLogic::on_notice(std::uint32_t window, std::span<const std::uint32_t> items) {
  for (const std::uint32_t item : items) progress_.notify(window, item, Sink{*this});
}

void DeviceLogic::on_failed(std::uint32_t lane) {
  TROUPE_ASSERT(lanes_[lane].is_busy);
  const Start& failed = lanes_[lane].start;
  record_start(failed.part->share.items[failed.item], Share::never);
  lanes_[lane].is_busy = false;
  --busy_;
}

void DeviceLogic::check_invariants() const {
  progress_.check_invariants();
  std::uint32_t busy = 0;
  for (const Lane& lane : lanes_) busy += lane.is_busy ? 1 : 0;
  TROUPE_ASSERT(busy == busy_);
  auto ready = static_cast<std::uint32_t>(further_.size());
  for (const auto& part : progress_.parts()) {
    ready += part->ready.size();
    TROUPE_ASSERT(part->ready.size() <= part->share.size() - part->done);
    for (std::uint32_t item = 0; item < part->share.size(); ++item) {
      if (part->ready.contains(item)) TROUPE_ASSERT(part->share.items[item].waits_for == 0);
    }
  }
  TROUPE_ASSERT(ready == ready_);
}

}  // namespace troupe
