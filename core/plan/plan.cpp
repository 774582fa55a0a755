#include "core/plan/plan.hpp"

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

}  // namespace troupe
