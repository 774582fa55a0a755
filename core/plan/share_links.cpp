#include "core/plan/share_links.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {
namespace {

// Calls visit(share, item, successor) for each edge within the window, successors in unit order.
template <class Visit>
void each_edge(const Plan& plan, const Window& window, std::span<const RoomEdge> room,
               const ShareTable<Window>& shares, Visit visit) {
  DistinctInputs distinct;
  auto edge = room.begin();
  for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
    const Unit& unit = plan.units[u];
    const auto visit_from = [&](UnitId p) {
      const ItemRef from = plan.units[p.index()].ref;
      visit(shares[from.resource], from.item, unit.ref);
    };
    for (const ReplicaId input : distinct.of(unit, shares[unit.ref.resource])) {
      if (maker_of(input) >= window.first) visit_from(maker_of(input));
    }
    for (; edge != room.end() && edge->to.index() == u; ++edge) visit_from(edge->from);
  }
}

// Those of `room` that lie within the window.
std::span<const RoomEdge> room_of(const Window& window, std::span<const RoomEdge> room) {
  const auto at = [&](std::size_t unit) {
    return std::lower_bound(room.begin(), room.end(), unit,
                            [](const RoomEdge& e, std::size_t u) { return e.to.index() < u; });
  };
  return {at(window.first.index()), at(window.first.index() + window.items)};
}

template <class T>
void permute(std::vector<T>& values, std::span<const std::uint32_t> order) {
  if (values.empty()) return;
  std::vector<T> ordered;
  ordered.reserve(values.size());
  for (const std::uint32_t item : order) ordered.push_back(values[item]);
  values = std::move(ordered);
}

void permute_items(Share& share, std::span<const std::uint32_t> order) {
  std::vector<std::uint32_t> first_input{0};
  std::vector<ReplicaId> inputs;
  first_input.reserve(share.first_input.size());
  inputs.reserve(share.inputs.size());
  for (const std::uint32_t item : order) {
    const auto of_item = share.inputs_of(item);
    inputs.insert(inputs.end(), of_item.begin(), of_item.end());
    first_input.push_back(static_cast<std::uint32_t>(inputs.size()));
  }
  share.first_input = std::move(first_input);
  share.inputs = std::move(inputs);
  permute(share.unit, order);
  permute(share.waits_for, order);
  permute(share.expected, order);
  permute(share.kernel, order);
  permute(share.index, order);
}

}  // namespace

void link_successors(Plan& plan, std::span<const RoomEdge> room) {
  ShareTable<Window> shares;
  for (Window& window : plan.windows) {
    shares.enter(window);
    const std::span<const RoomEdge> window_room = room_of(window, room);
    for (const RoomEdge& edge : window_room) {
      const ItemRef to = plan.units[edge.to.index()].ref;
      ++shares[to.resource].waits_for[to.item];
    }
    // Each start is one place too far to the right: filling moves it to where it belongs.
    for (auto& [resource, share] : window.shares) {
      share.first_successor.assign(share.size() + 2, 0);
    }
    each_edge(plan, window, window_room, shares,
              [](Share& share, std::uint32_t item, ItemRef) { ++share.first_successor[item + 2]; });
    for (auto& [resource, share] : window.shares) {
      std::vector<std::uint32_t>& first = share.first_successor;
      std::partial_sum(first.begin(), first.end(), first.begin());
      share.successors.resize(first.back());
    }
    each_edge(plan, window, window_room, shares, [](Share& share, std::uint32_t item, ItemRef to) {
      share.successors[share.first_successor[item + 1]++] = to;
    });
    for (auto& [resource, share] : window.shares) share.first_successor.pop_back();
  }
}

std::vector<Duration> unit_ranks(const Plan& plan) {
  std::vector<Duration> rank(plan.units.size(), Duration{0});
  ShareTable<> shares;
  for (std::size_t w = plan.windows.size(); w-- > 0;) {
    const Window& window = plan.windows[w];
    shares.enter(window);
    for (std::size_t u = window.first.index() + window.items; u-- > window.first.index();) {
      const ItemRef ref = plan.units[u].ref;
      const Share& share = shares[ref.resource];
      rank[u] += share.expected[ref.item];
      for (const ReplicaId input : share.inputs_of(ref.item)) {
        Duration& before = rank[maker_of(input).index()];
        before = std::max(before, rank[u]);
      }
    }
  }
  return rank;
}

void order_by_priority(Plan& plan, const Machine& machine, std::span<const Duration> rank) {
  std::vector<std::uint32_t> order;
  for (Window& window : plan.windows) {
    for (auto& [resource, share] : window.shares) {
      if (resource.index() >= machine.devices.size()) continue;
      const auto more_urgent = [&](UnitId a, UnitId b) {
        return rank[a.index()] > rank[b.index()];
      };
      if (std::is_sorted(share.unit.begin(), share.unit.end(), more_urgent)) continue;
      order.resize(share.size());
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return more_urgent(share.unit[a], share.unit[b]);
      });
      permute_items(share, order);
      for (std::uint32_t item = 0; item < share.size(); ++item) {
        plan.units[share.unit[item].index()].ref.item = item;
      }
    }
  }
}

}  // namespace troupe
