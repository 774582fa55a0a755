// Changes a plan so that its windows don't wait for each other, as in a stream.
#pragma once

#include "core/plan/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace troupe::testing {

class WindowStreamer {
 public:
  explicit WindowStreamer(Plan& plan) : plan_(plan) {}

  // Windows still wait for the window that is prepared before the clock starts. Reads of tensors of
  // earlier windows become late edges. Memories must have room for all tensors of the plan.
  void run() {
    for (std::size_t w = 1; w < plan_.windows.size(); ++w) {
      Window& window = plan_.windows[w];
      window.waits = !plan_.windows[w - 1].timed;
      if (window.waits) continue;
      for (std::uint32_t u = 0; u < window.items; ++u) {
        add_edges_to(window, plan_.units[window.first.index() + u].ref);
      }
    }
  }

 private:
  void add_edges_to(Window& window, const ItemRef& to) {
    const Share& reading = share(window, to.resource);
    const auto read = reading.inputs_of(to.item);
    const std::vector<ReplicaId> inputs(read.begin(), read.end());  // shares may move
    for (const ReplicaId input : inputs) {
      if (maker_of(input) >= window.first) continue;
      const ItemRef from = plan_.units[maker_of(input).index()].ref;
      share(window, from.resource)
          .late.push_back({.window = window_of(maker_of(input)), .item = from.item, .to = to});
      ++share(window, to.resource).items[to.item].waits_for;
    }
  }
  // The share of `resource`. Adds an empty share if there is none.
  Share& share(Window& window, ResourceId resource) {
    for (auto& [r, share] : window.shares) {
      if (r == resource) return share;
    }
    Share& made = window.shares.emplace_back(resource, Share{}).second;
    made.window = static_cast<std::uint32_t>(&window - plan_.windows.data());
    made.timed = window.timed;
    return made;
  }
  std::uint32_t window_of(UnitId unit) const {
    const auto after = std::upper_bound(plan_.windows.begin(), plan_.windows.end(), unit,
                                        [](UnitId u, const Window& w) { return u < w.first; });
    return static_cast<std::uint32_t>(after - plan_.windows.begin() - 1);
  }

  Plan& plan_;
};

inline void stream_windows(Plan& plan) {
  WindowStreamer(plan).run();
}

}  // namespace troupe::testing
