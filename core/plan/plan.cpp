#include "core/plan/plan.hpp"

#include <algorithm>

namespace troupe {

std::vector<Window> Plan::take_shares() {
  std::vector<Window> taken;
  for (Window& window : windows) {
    taken.push_back({.number = window.number,
                     .shares = std::exchange(window.shares, {}),
                     .first = window.first,
                     .items = window.items,
                     .timed = window.timed,
                     .waits = window.waits});
  }
  return taken;
}

std::span<const ReplicaId> DistinctInputs::without_repeats(std::span<const ReplicaId> inputs) {
  found_.assign(inputs.begin(), inputs.end());
  std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  return found_;
}

}  // namespace troupe
