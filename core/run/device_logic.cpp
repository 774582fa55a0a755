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

void DeviceLogic::on_finished(std::uint32_t lane, Instant start, Instant end) {
  TROUPE_ASSERT(lanes_[lane].has_value());
  const std::uint32_t item = *lanes_[lane];
  lanes_[lane].reset();
  --busy_;
  progress_.record(item) = {.start = start, .end = end, .busy = end - start, .lane = lane};
  progress_.complete(item, self_, false, released_, notices_);
  queue_released();
}

void DeviceLogic::on_failed(std::uint32_t lane) {
  TROUPE_ASSERT(lanes_[lane].has_value());
  lanes_[lane].reset();
  --busy_;
}

std::optional<DeviceLogic::Start> DeviceLogic::next() {
  if (stopped_ || ready_.empty() || busy_ == lanes_.size()) return std::nullopt;
  const std::uint32_t item = ready_.pop();
  std::uint32_t lane = 0;
  while (lanes_[lane].has_value()) ++lane;
  lanes_[lane] = item;
  ++busy_;
  return Start{lane, item};
}

void DeviceLogic::queue_released() {
  TROUPE_ASSERT(chunks_.empty());
  for (const std::uint32_t item : released_) ready_.insert(item);
  released_.clear();
}

void DeviceLogic::check_invariants() const {
  progress_.check_invariants();
  std::uint32_t busy = 0;
  for (const auto& lane : lanes_) busy += lane.has_value() ? 1 : 0;
  TROUPE_ASSERT(busy == busy_);
  TROUPE_ASSERT(released_.empty() && chunks_.empty());
  TROUPE_ASSERT(ready_.size() + busy_ <= progress_.pending());
  for (std::uint32_t item = 0; item < progress_.share().size(); ++item) {
    if (ready_.contains(item)) TROUPE_ASSERT(progress_.waits_for(item) == 0);
  }
}

}  // namespace troupe
