#include "core/run/device_logic.hpp"

#include "core/base/assert.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

DeviceLogic::DeviceLogic(ResourceId self, int streams, IssueAhead ahead)
    : slots_(static_cast<std::size_t>(streams) * ahead.depth),
      progress_(self, std::move(ahead)),
      depth_(progress_.ahead().depth) {
  TROUPE_ASSERT(!slots_.empty());
  if (!progress_.ahead().is_on()) return;
  under_way_.resize(static_cast<std::size_t>(streams));
  outputs_.resize(slots_.size());
}

void DeviceLogic::on_share(Share share) {
  progress_.load(std::move(share), Sink{*this});
}

void DeviceLogic::on_notice(std::uint32_t window, std::span<const std::uint32_t> items) {
  for (const std::uint32_t item : items) progress_.notify(window, item, Sink{*this});
}

std::uint32_t DeviceLogic::least_loaded() const {
  const auto stream = std::min_element(under_way_.begin(), under_way_.end());
  return static_cast<std::uint32_t>(stream - under_way_.begin()) * depth_;
}

void DeviceLogic::on_issued(std::uint32_t slot) {
  Start& issued = slots_[slot].start;
  issued.is_issued = true;
  ++under_way_[stream_of(slot)];
  progress_.issue(*issued.part, issued.item, false, Sink{*this});
  // Further outputs that have become ready are those of this op: others are taken at once.
  outputs_[slot] = std::exchange(further_, {});
  ready_ -= static_cast<std::uint32_t>(outputs_[slot].size());
  for (const auto& [part, item] : outputs_[slot]) {
    record_start(part->share.items[item], issued.since);
    progress_.issue(*part, item, false, Sink{*this});
  }
}

void DeviceLogic::finish_issued(Slot& slot, Instant end) {
  const Start done = slot.start;
  slot.start.is_issued = false;
  const std::uint32_t stream = stream_of(done.slot);
  --under_way_[stream];
  const auto finish = [&](ActiveShare& part, std::uint32_t number) {
    Share::Item& item = part.share.items[number];
    item.track = static_cast<std::uint16_t>(stream);
    record_end(item, end);
    progress_.complete_issued(part, number, false, Sink{*this});
  };
  finish(*done.part, done.item);
  for (const auto& [part, item] : std::exchange(outputs_[done.slot], {})) {
    record_start(part->share.items[item], end);  // it takes no time
    finish(*part, item);
  }
}

void DeviceLogic::on_failed(std::uint32_t slot) {
  TROUPE_ASSERT(slots_[slot].is_busy);
  Start& failed = slots_[slot].start;
  record_start(failed.part->share.items[failed.item], Share::never);
  slots_[slot].is_busy = false;
  --busy_;
  if (!std::exchange(failed.is_issued, false)) return;
  --under_way_[stream_of(slot)];
  for (const auto& [part, item] : std::exchange(outputs_[slot], {})) {
    record_start(part->share.items[item], Share::never);
  }
}

void DeviceLogic::check_invariants() const {
  progress_.check_invariants();
  std::uint32_t busy = 0;
  for (const Slot& slot : slots_) busy += slot.is_busy ? 1 : 0;
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
