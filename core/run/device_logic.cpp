#include "core/run/device_logic.hpp"

#include "core/base/assert.hpp"

namespace troupe {

DeviceLogic::DeviceLogic(ResourceId self, int lanes)
    : self_(self), lanes_(static_cast<std::size_t>(lanes)) {
  TROUPE_ASSERT(lanes > 0);
}

void DeviceLogic::on_share(Share share) {
  TROUPE_ASSERT(busy_ == 0 && ready_.empty());
  ready_.reset(share.size());
  progress_.load(std::move(share), released_, chunks_);
  queue_released();
}

void DeviceLogic::on_notice(std::uint32_t window, std::span<const std::uint32_t> items) {
  for (const std::uint32_t item : items) progress_.notify(window, item, released_, chunks_);
  queue_released();
}

void DeviceLogic::on_failed(std::uint32_t lane) {
  TROUPE_ASSERT(lanes_[lane].is_busy);
  lanes_[lane].is_busy = false;
  --busy_;
}

void DeviceLogic::check_invariants() const {
  progress_.check_invariants();
  std::uint32_t busy = 0;
  for (const Lane& lane : lanes_) busy += lane.is_busy ? 1 : 0;
  TROUPE_ASSERT(busy == busy_);
  TROUPE_ASSERT(released_.empty() && chunks_.empty());
  TROUPE_ASSERT(ready_.size() + busy_ <= progress_.pending());
  for (std::uint32_t item = 0; item < progress_.share().size(); ++item) {
    if (ready_.contains(item)) TROUPE_ASSERT(progress_.waits_for(item) == 0);
  }
}

}  // namespace troupe
