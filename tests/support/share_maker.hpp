// Makes shares by hand, to test the logic that executes them.
#pragma once

#include "core/plan/share.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::testing {

// One item of a share. `waits_for` must count the items that the test completes and the notices
// that it sends.
struct Item {
  std::uint32_t waits_for = 0;
  std::vector<ItemRef> successors = {};
  Duration expected{0};  // of a transfer: without latency
  Duration latency{0};
  std::optional<Share::Move> move = {};  // for a transfer
  bool is_further = false;
};

// The share of `self`. Either all items must be transfers, or none. Units are numbered from
// `first_unit` on. Each unit makes the replica with its number.
inline Share make_share(ResourceId self, const std::vector<Item>& items, std::uint32_t window = 0,
                        bool timed = true, std::uint32_t first_unit = 0) {
  Share share;
  share.window = window;
  share.timed = timed;
  for (const Item& item : items) {
    Share::Item& made = share.add_item();
    made.unit = UnitId{first_unit + share.size() - 1};
    made.waits_for = item.waits_for;
    made.is_further = item.is_further;
    if (item.waits_for == 0) share.first_items.push_back(share.size() - 1);
    if (item.move) {
      made.work = static_cast<std::uint32_t>(share.moves.size());
      share.moves.push_back(*item.move);
      share.moves.back().expected = {.latency = item.latency, .wire = item.expected};
      share.chunks.emplace_back();
    } else {
      made.work = static_cast<std::uint32_t>(share.kernels.size());
      share.kernels.push_back({.kind = {}, .attrs = {}, .expected = item.expected});
    }
    for (const ItemRef& next : item.successors) {
      share.successors.push_back(next.resource == self ? Share::Successor{next.item}
                                                       : share.add_elsewhere(next));
    }
    share.items.back().first_successor = static_cast<std::uint32_t>(share.successors.size());
  }
  return share;
}

// Adds an arrival of these items. Returns the number of the arrival in notices.
inline std::uint32_t add_arrival(Share& share, const std::vector<std::uint32_t>& items) {
  share.arrivals.insert(share.arrivals.end(), items.begin(), items.end());
  share.first_arrival.push_back(static_cast<std::uint32_t>(share.arrivals.size()));
  return share.size() + static_cast<std::uint32_t>(share.first_arrival.size()) - 2;
}

}  // namespace troupe::testing
