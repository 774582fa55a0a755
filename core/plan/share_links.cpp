#include "core/plan/share_links.hpp"

#include <algorithm>

namespace troupe {
namespace {

// The shares of one window by resource.
class WindowShares {
 public:
  explicit WindowShares(Window& window) {
    for (auto& [resource, share] : window.shares) {
      if (resource.index() >= shares_.size()) shares_.resize(resource.index() + 1, nullptr);
      shares_[resource.index()] = &share;
    }
  }
  Share& operator[](ResourceId resource) { return *shares_[resource.index()]; }

 private:
  std::vector<Share*> shares_;
};

// Calls visit(share, item, successor) for each edge within the window, successors in unit order.
template <class Visit>
void each_edge(const Plan& plan, const Window& window, std::span<const RoomEdge> room,
               WindowShares& shares, Visit visit) {
  auto edge = room.begin();
  for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
    const auto visit_from = [&](UnitId p) {
      const ItemRef from = plan.units[p.index()].ref;
      visit(shares[from.resource], from.item, plan.units[u].ref);
    };
    for (const UnitId p : plan.predecessors_of(UnitId::at(u))) {
      if (p >= window.first) visit_from(p);
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

}  // namespace

void link_successors(Plan& plan, std::span<const RoomEdge> room) {
  for (Window& window : plan.windows) {
    WindowShares shares(window);
    const std::span<const RoomEdge> window_room = room_of(window, room);
    for (const RoomEdge& edge : window_room) {
      const ItemRef to = plan.units[edge.to.index()].ref;
      ++shares[to.resource].waits_for[to.item];
    }
    for (auto& [resource, share] : window.shares) {
      share.first_successor.assign(share.size() + 1, 0);
    }
    each_edge(plan, window, window_room, shares,
              [](Share& share, std::uint32_t item, ItemRef) { ++share.first_successor[item + 1]; });
    for (auto& [resource, share] : window.shares) {
      for (std::size_t i = 0; i < share.size(); ++i) {
        share.first_successor[i + 1] += share.first_successor[i];
      }
      share.successors.resize(share.first_successor.back());
    }
    // Filling moves each start to the next item's; shifting back by one restores them.
    each_edge(plan, window, window_room, shares, [](Share& share, std::uint32_t item, ItemRef to) {
      share.successors[share.first_successor[item]++] = to;
    });
    for (auto& [resource, share] : window.shares) {
      std::vector<std::uint32_t>& first = share.first_successor;
      std::rotate(first.begin(), first.end() - 1, first.end());
      first[0] = 0;
    }
  }
}

void rank_units(Plan& plan) {
  std::vector<Duration> rank(plan.units.size(), Duration{0});
  for (std::size_t w = plan.windows.size(); w-- > 0;) {
    Window& window = plan.windows[w];
    WindowShares shares(window);
    for (auto& [resource, share] : window.shares) share.rank.resize(share.size());
    for (std::size_t u = window.first.index() + window.items; u-- > window.first.index();) {
      const ItemRef ref = plan.units[u].ref;
      Share& share = shares[ref.resource];
      rank[u] += share.expected[ref.item];
      share.rank[ref.item] = rank[u];
      for (const UnitId p : plan.predecessors_of(UnitId::at(u))) {
        rank[p.index()] = std::max(rank[p.index()], rank[u]);
      }
    }
  }
}

}  // namespace troupe
