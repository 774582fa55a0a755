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

// Puts the items in the order of `order`, their units.
void permute_items(Share& share, std::span<const Unit> units, std::span<const UnitId> order) {
  const Share old = std::exchange(share, Share{});
  share.window = old.window;
  share.timed = old.timed;
  share.kernels = old.kernels;
  share.unit.assign(order.begin(), order.end());
  const std::size_t n = order.size();
  share.waits_for.resize(n);
  share.expected.resize(n);
  share.kernel.resize(n);
  share.index.resize(n);
  share.first_input.resize(n + 1);
  share.inputs.reserve(old.inputs.size());
  for (std::size_t to = 0; to < n; ++to) {
    const std::uint32_t from = units[order[to].index()].ref.item;
    share.waits_for[to] = old.waits_for[from];
    share.expected[to] = old.expected[from];
    share.kernel[to] = old.kernel[from];
    share.index[to] = old.index[from];
    const auto inputs = old.inputs_of(from);
    share.inputs.insert(share.inputs.end(), inputs.begin(), inputs.end());
    share.first_input[to + 1] = static_cast<std::uint32_t>(share.inputs.size());
  }
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
      rank[u] += std::max(share.expected[ref.item], Duration{1});
      for (const ReplicaId input : share.inputs_of(ref.item)) {
        Duration& before = rank[maker_of(input).index()];
        before = std::max(before, rank[u]);
      }
    }
  }
  return rank;
}

void order_by_priority(Plan& plan, const Machine& machine, std::span<const Duration> rank) {
  std::vector<UnitId> order;
  for (Window& window : plan.windows) {
    for (auto& [resource, share] : window.shares) {
      if (resource.index() >= machine.devices.size()) continue;
      order = share.unit;
      const auto rank_of = [&](UnitId u) { return rank[u.index()]; };
      const auto is_longer = [&](UnitId a, UnitId b) { return rank_of(a) > rank_of(b); };
      if (!std::is_sorted(order.begin(), order.end(), is_longer)) {
        std::stable_sort(order.begin(), order.end(), is_longer);
      }
      const auto is_awaited = [&](UnitId u) { return !plan.replicas[u.index()].is_private; };
      for (auto from = order.begin(); from != order.end();) {
        const auto to =
            std::find_if(from, order.end(), [&](UnitId u) { return rank_of(u) != rank_of(*from); });
        std::stable_partition(from, to, is_awaited);
        from = to;
      }
      if (order == share.unit) continue;
      permute_items(share, plan.units, order);
      for (std::uint32_t item = 0; item < share.size(); ++item) {
        plan.units[share.unit[item].index()].ref.item = item;
      }
    }
  }
}

}  // namespace troupe
