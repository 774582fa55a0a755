#include "core/run/records.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe {

Duration SentShare::expected_left() const {
  Duration left{0};
  for (std::size_t item = 0; item < size(); ++item) {
    if (has_finished(item)) continue;
    left = std::min(left + kernels_[items_[item].work].expected, longest_duration);
  }
  return left;
}

Share SentShare::read() const {
  Share share;
  share.window = window_;
  share.timed = timed_;
  share.inputs.assign(inputs_.begin(), inputs_.end());
  share.chunks.resize(chunks_.size());
  share.items.resize(items_.size());
  for (std::size_t i = 0; i < items_.size(); ++i) {
    Share::Item& from = items_[i];
    Share::Item& to = share.items[i];
    to.unit = from.unit;
    to.first_input = from.first_input;
    to.end = std::atomic_ref<Instant>(from.end).load(std::memory_order_acquire);
    to.start = std::atomic_ref<Instant>(from.start).load(std::memory_order_relaxed);
    if (!to.finished()) continue;  // the rest may be changing
    to.track = from.track;
    if (!chunks_.empty()) share.chunks[i] = chunks_[i];
  }
  return share;
}

}  // namespace troupe
