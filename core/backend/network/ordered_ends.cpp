#include "core/backend/network/ordered_ends.hpp"

#include "core/base/assert.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void OrderedEnds::begin(std::uint32_t slot) {
  const std::lock_guard lock(mutex_);
  under_way_.push_back({.slot = slot});
  // The link knows of the slot's last end, and of those that were reported before.
  const auto known = std::find(reported_.begin(), reported_.end(), slot);
  if (known != reported_.end()) reported_.erase(reported_.begin(), known + 1);
}

Started OrderedEnds::end_at_once() {
  const std::lock_guard lock(mutex_);
  if (under_way_.size() == 1 && reported_.empty()) {
    under_way_.pop_back();
    return {.state = Started::State::finished};
  }
  under_way_.back().has_ended = true;
  report();
  return {.state = Started::State::pending};
}

void OrderedEnds::take_back() {
  const std::lock_guard lock(mutex_);
  under_way_.pop_back();
}

void OrderedEnds::failed(std::uint32_t slot, std::string cause) {
  ended(slot, std::move(cause));
}

void OrderedEnds::leave() {
  const std::lock_guard lock(mutex_);
  completions_ = nullptr;
}

void OrderedEnds::ended(std::uint32_t slot, std::string failure) {
  const std::lock_guard lock(mutex_);  // so that the link isn't gone before it is told
  const auto chunk = std::find_if(under_way_.begin(), under_way_.end(),
                                  [&](const Chunk& c) { return c.slot == slot && !c.has_ended; });
  TROUPE_ASSERT(chunk != under_way_.end());
  chunk->has_ended = true;
  chunk->failure = std::move(failure);
  report();
}

void OrderedEnds::report() {
  for (; !under_way_.empty() && under_way_.front().has_ended; under_way_.pop_front()) {
    Chunk& chunk = under_way_.front();
    reported_.push_back(chunk.slot);
    if (completions_ == nullptr) continue;
    if (chunk.failure.empty()) {
      completions_->completed(chunk.slot);
    } else {
      completions_->failed(chunk.slot, std::move(chunk.failure));
    }
  }
}

}  // namespace troupe
