// Lists fields over all items of a share, and decodes successors.
#pragma once

#include "core/plan/share.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace troupe::testing {

// The successors of `item` of `self`'s share, in this share and elsewhere.
inline std::vector<ItemRef> successors_of(ResourceId self, const Share& share, std::uint32_t item) {
  std::vector<ItemRef> refs;
  for (const Share::Successor next : share.successors_of(item)) {
    refs.push_back(next.is_elsewhere() ? share.elsewhere[next.place()]
                                       : ItemRef{self, next.place()});
  }
  return refs;
}
// The successors of all items, in the order of items.
inline std::vector<ItemRef> successors(ResourceId self, const Share& share) {
  std::vector<ItemRef> refs;
  for (std::uint32_t item = 0; item < share.size(); ++item) {
    for (const ItemRef& next : successors_of(self, share, item)) refs.push_back(next);
  }
  return refs;
}

template <class Field>
auto of_each_item(const Share& share, Field field) {
  std::vector<decltype(field(0U))> values;
  for (std::uint32_t item = 0; item < share.size(); ++item) values.push_back(field(item));
  return values;
}
inline std::vector<UnitId> units(const Share& share) {
  return of_each_item(share, [&](std::uint32_t i) { return share.items[i].unit; });
}
inline std::vector<std::uint32_t> waits_for(const Share& share) {
  return of_each_item(share, [&](std::uint32_t i) { return share.items[i].waits_for; });
}
inline std::vector<Duration> expected(const Share& share) {
  return of_each_item(share, [&](std::uint32_t i) { return share.expected(i); });
}
// The units whose successor waits for room, in the order of items.
inline std::vector<UnitId> before_room(const Share& share) {
  std::vector<UnitId> units;
  for (std::uint32_t item = 0; item < share.size(); ++item) {
    for (const Share::Successor next : share.successors_of(item)) {
      if (next.waits_for_room()) units.push_back(share.items[item].unit);
    }
  }
  return units;
}

// Notices as values that can be compared: the window and its item.
using Told = std::vector<std::pair<std::uint32_t, ItemRef>>;
inline Told told(const std::vector<WindowItem>& notices) {
  Told values;
  for (const WindowItem& to : notices) values.emplace_back(to.window, to.ref);
  return values;
}

}  // namespace troupe::testing
