// Shares written by hand, to test what carries them out.
#pragma once

#include "core/plan/share.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace troupe::testing {

// One item of a share. `waits_for` counts what the test will notify or complete.
struct Item {
  std::uint32_t waits_for = 0;
  std::vector<ItemRef> successors = {};
  Duration expected{0};
  Share::Move move = {};
};

// Units are numbered from `first_unit` on, and each makes the replica of its number.
inline Share make_share(const std::vector<Item>& items, std::uint32_t window = 0, bool timed = true,
                        std::uint32_t first_unit = 0) {
  Share share;
  share.window = window;
  share.timed = timed;
  share.first_successor.push_back(0);
  share.first_input.push_back(0);
  for (const Item& item : items) {
    share.unit.push_back(UnitId{first_unit + share.size()});
    share.waits_for.push_back(item.waits_for);
    share.expected.push_back(item.expected);
    share.successors.insert(share.successors.end(), item.successors.begin(), item.successors.end());
    share.first_successor.push_back(static_cast<std::uint32_t>(share.successors.size()));
    share.first_input.push_back(0);
    share.moves.push_back(item.move);
  }
  return share;
}

// Gives the share one more arrival, of these items; the number that stands for it in a notice.
inline std::uint32_t add_arrival(Share& share, const std::vector<std::uint32_t>& items) {
  share.arrivals.insert(share.arrivals.end(), items.begin(), items.end());
  share.first_arrival.push_back(static_cast<std::uint32_t>(share.arrivals.size()));
  return share.size() + static_cast<std::uint32_t>(share.first_arrival.size()) - 2;
}

}  // namespace troupe::testing
