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

// Where an item has several successors in one other share, makes them one arrival there.
void join_arrivals(ResourceId self, Share& share, const ShareTable<Window>& shares) {
  std::uint32_t kept = 0;  // successors
  for (std::uint32_t item = 0; item < share.size(); ++item) {
    const std::uint32_t begin = share.first_successor[item];
    const std::uint32_t end = share.first_successor[item + 1];
    share.first_successor[item] = kept;
    // The first one of a paced transfer takes it chunk by chunk, by itself.
    const bool paces = !share.moves.empty() && share.moves[item].paces;
    const std::uint32_t first = kept + (paces ? 1 : 0);
    for (std::uint32_t s = begin; s < end; ++s) {
      const ItemRef to = share.successors[s];
      const auto known = std::find_if(
          share.successors.begin() + first, share.successors.begin() + std::max(first, kept),
          [&](const ItemRef& k) { return to.resource != self && k.resource == to.resource; });
      if (kept <= first || known == share.successors.begin() + kept) {
        share.successors[kept++] = to;
        continue;
      }
      Share& there = shares[to.resource];
      if (known->item < there.size()) {
        there.arrivals.push_back(known->item);
        known->item = there.size() + static_cast<std::uint32_t>(there.first_arrival.size()) - 1;
        there.first_arrival.push_back(static_cast<std::uint32_t>(there.arrivals.size()));
      }
      there.arrivals.push_back(to.item);
      there.first_arrival.back() = static_cast<std::uint32_t>(there.arrivals.size());
    }
  }
  share.first_successor[share.size()] = kept;
  share.successors.resize(kept);
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
    for (auto& [resource, share] : window.shares) join_arrivals(resource, share, shares);
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
      const auto is_longer = [&](UnitId a, UnitId b) { return rank[a.index()] > rank[b.index()]; };
      if (std::is_sorted(share.unit.begin(), share.unit.end(), is_longer)) continue;
      order = share.unit;
      std::stable_sort(order.begin(), order.end(), is_longer);
      permute_items(share, plan.units, order);
      for (std::uint32_t item = 0; item < share.size(); ++item) {
        plan.units[share.unit[item].index()].ref.item = item;
      }
    }
  }
}

}  // namespace troupe
