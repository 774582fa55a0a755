#include "core/plan/share_links.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace troupe {
namespace {

// What waits for room in a window.
struct WindowRoom {
  std::span<const RoomEdge> edges;
  std::span<const UnitId> waiting;
};

WindowRoom room_of(const Window& window, const RoomOrder& room) {
  const auto within = [&](const auto& all, const auto& unit_of) {
    const auto at = [&](std::size_t unit) {
      return std::partition_point(all.begin(), all.end(),
                                  [&](const auto& each) { return unit_of(each).index() < unit; });
    };
    return std::span(at(window.first.index()), at(window.first.index() + window.items));
  };
  return {.edges = within(room.edges, [](const RoomEdge& edge) { return edge.to; }),
          .waiting = within(room.waiting, [](UnitId unit) { return unit; })};
}

// Fills the successors of a window's items from the last unit to the first. Before fill(), the
// `first_successor` of an item must be the end of its successors; each one added moves it back by
// one, so that it is the beginning afterwards.
class SuccessorFiller {
 public:
  SuccessorFiller(const Plan& plan, const Window& window, const WindowRoom& room,
                  const ShareTable<Window>& shares)
      : plan_(plan),
        first_(window.first),
        end_(first_.index() + window.items),
        room_(room),
        shares_(shares),
        notifies_elsewhere_(window.items) {}

  // Returns whether an item has several successors in shares of other resources.
  bool fill() {
    auto edge = room_.edges.rbegin();
    auto waiting = room_.waiting.rbegin();
    for (std::size_t u = end_; u-- > first_.index();) {
      const Unit& unit = plan_.units[u];
      Share& share = shares_[unit.ref.resource];
      const bool waits = waiting != room_.waiting.rend() && waiting->index() == u;
      if (waits) ++waiting;
      flags_ = waits ? Share::Successor::room_bit : 0;
      for (; edge != room_.edges.rend() && edge->to.index() == u; ++edge) {
        add(edge->from, unit, share);
      }
      const std::span<const ReplicaId> inputs = share.inputs_of(unit.ref.item);
      for (std::size_t i = inputs.size(); i-- > 0;) {
        if (maker_of(inputs[i]) >= first_) add(maker_of(inputs[i]), unit, share);
      }
    }
    return notifies_several_;
  }

 private:
  // Forced inlining saves 20 of 40 instructions for each edge.
  [[gnu::always_inline]] void add(UnitId maker, const Unit& unit, Share& share) {
    const ItemRef from = plan_.units[maker.index()].ref;
    if (from.resource == unit.ref.resource) {
      share.successors[--share.items[from.item].first_successor] = {unit.ref.item | flags_};
    } else {
      add_elsewhere(maker, from, unit.ref);
    }
  }

  void add_elsewhere(UnitId maker, ItemRef from, ItemRef to) {
    Share& there = shares_[from.resource];
    const Share::Successor next{there.add_elsewhere(to).value | flags_};
    there.successors[--there.items[from.item].first_successor] = next;
    const std::size_t place = maker.index() - first_.index();
    notifies_several_ = notifies_several_ || notifies_elsewhere_[place];
    notifies_elsewhere_[place] = true;
  }

  const Plan& plan_;
  const UnitId first_;
  const std::size_t end_;
  const WindowRoom room_;
  const ShareTable<Window>& shares_;
  std::uint32_t flags_ = 0;               // of successors that are the current unit
  std::vector<bool> notifies_elsewhere_;  // by unit
  bool notifies_several_ = false;
};

// Reorders the items so that their units are in the order of `order`.
void permute_items(Share& share, const Plan& plan, std::span<const UnitId> order) {
  const BigVector<Share::Item> items = share.items;
  const BigVector<ReplicaId> inputs = share.inputs;
  share.items.assign(1, Share::Item{});
  share.inputs.clear();
  for (const UnitId unit : order) {
    const std::uint32_t from = plan.units[unit.index()].ref.item;
    share.inputs.insert(share.inputs.end(), inputs.begin() + items[from].first_input,
                        inputs.begin() + items[from + 1].first_input);
    Share::Item& item = share.add_item();
    const std::uint32_t first_input = item.first_input;
    item = items[from];
    item.first_input = first_input;
  }
}

// If an item of `share` has several successors in one other share, replaces them by one arrival.
class ArrivalJoiner {
 public:
  ArrivalJoiner(Share& share, const ShareTable<Window>& shares)
      : share_(share), shares_(shares), elsewhere_(std::exchange(share.elsewhere, {})) {}

  void join() {
    for (std::uint32_t item = 0; item < share_.size(); ++item) {
      const std::uint32_t begin = share_.items[item].first_successor;
      const std::uint32_t end = share_.items[item + 1].first_successor;
      share_.items[item].first_successor = kept_;
      // The next transfer on a route gets a notice for each chunk, so it can't share an arrival.
      const bool paces = share_.is_transfer() && share_.move(item).paces;
      const std::uint32_t first = kept_ + (paces ? 1 : 0);
      for (std::uint32_t s = begin; s < end; ++s) keep(share_.successors[s], first);
    }
    share_.items[share_.size()].first_successor = kept_;
    share_.successors.resize(kept_);
  }

 private:
  // Keeps a successor, or joins it with a kept one from index `first` on.
  void keep(Share::Successor next, std::uint32_t first) {
    if (!next.is_elsewhere()) {
      share_.successors[kept_++] = next;
      return;
    }
    const ItemRef to = elsewhere_[next.place()];
    const std::uint32_t flags = next.value & Share::Successor::room_bit;
    for (std::uint32_t s = first; s < kept_; ++s) {
      Share::Successor& known = share_.successors[s];
      if (!known.is_elsewhere()) continue;
      ItemRef& notified = share_.elsewhere[known.place()];
      if (notified.resource != to.resource) continue;
      add_to_arrival(notified, to.item);
      known.value |= flags;
      return;
    }
    share_.successors[kept_++] = {share_.add_elsewhere(to).value | flags};
  }

  void add_to_arrival(ItemRef& notified, std::uint32_t item) {
    Share& there = shares_[notified.resource];
    if (notified.item < there.size()) {
      there.arrivals.push_back(notified.item);
      notified.item = there.size() + static_cast<std::uint32_t>(there.first_arrival.size()) - 1;
      there.first_arrival.push_back(static_cast<std::uint32_t>(there.arrivals.size()));
    }
    there.arrivals.push_back(item);
    there.first_arrival.back() = static_cast<std::uint32_t>(there.arrivals.size());
  }

  Share& share_;
  const ShareTable<Window>& shares_;
  const std::vector<ItemRef> elsewhere_;  // before successors are joined
  std::uint32_t kept_ = 0;                // number of successors kept so far
};

// Adds the dependencies of a window's units on units of earlier windows that may still be running.
void add_late_edges(const Plan& plan, Window& window) {
  ShareTable<Window> shares(window);
  std::vector<std::pair<ResourceId, Share::LateEdge>> late;
  for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
    const Unit& unit = plan.units[u];
    Share& share = shares[unit.ref.resource];
    for (const ReplicaId input : share.inputs_of(unit.ref.item)) {
      const UnitId maker = maker_of(input);
      if (maker >= window.first || plan.is_done(maker)) continue;
      const ItemRef from = plan.units[maker.index()].ref;
      if (!from.resource) continue;  // given: there from the beginning
      ++share.items[unit.ref.item].waits_for;
      late.push_back({from.resource, {plan.window_of(maker), from.item, unit.ref}});
    }
  }
  for (const auto& [resource, edge] : late) {
    if (shares.find(resource) == nullptr) {
      // The resource has no items in this window.
      Share& share = window.shares.emplace_back(resource, Share{}).second;
      share.window = window.number;
      shares.enter(window);
    }
    shares[resource].late.push_back(edge);
  }
}

Duration time_of(const Share& share, std::uint32_t item) {
  return std::max(share.expected(item), Duration{1});
}

// Of what devices have to do in the window.
Duration largest_load(const Window& window) {
  Duration largest{0};
  for (const auto& [resource, share] : window.shares) {
    if (share.is_transfer()) continue;
    Duration load{0};
    for (std::uint32_t i = 0; i < share.size(); ++i) load += time_of(share, i);
    largest = std::max(largest, load);
  }
  return largest;
}

}  // namespace

void link_successors(Plan& plan, const RoomOrder& room, ArenaPool& arenas) {
  ShareTable<Window> shares;
  for (Window& window : plan.windows) {
    shares.enter(window);
    const WindowRoom window_room = room_of(window, room);
    for (const RoomEdge& edge : window_room.edges) {
      const ItemRef to = plan.units[edge.to.index()].ref;
      const ItemRef from = plan.units[edge.from.index()].ref;
      ++shares[to.resource].items[to.item].waits_for;
      ++shares[from.resource].items[from.item].first_successor;
    }
    // Turns the counts in first_successor into ends; SuccessorFiller turns them into beginnings.
    std::size_t bytes = 0;
    for (auto& [resource, share] : window.shares) {
      std::uint32_t end = 0;
      for (std::uint32_t i = 0; i < share.size(); ++i) {
        Share::Item& item = share.items[i];
        end = item.first_successor += end;
        if (item.waits_for == 0) share.first_items.push_back(i);
      }
      share.items.back().first_successor = end;
      bytes += Arena::room_for(end * sizeof(Share::Successor));
    }
    const std::shared_ptr<Arena> successor_room = arenas.take(bytes);
    for (auto& [resource, share] : window.shares) {
      const std::uint32_t end = share.items.back().first_successor;
      share.successor_room = successor_room;
      share.successors = vector_in<Share::Successor>(*successor_room, end);
      share.successors.resize(end);
    }
    if (SuccessorFiller(plan, window, window_room, shares).fill()) {
      for (auto& [resource, share] : window.shares) {
        if (!share.elsewhere.empty()) ArrivalJoiner(share, shares).join();
      }
    }
    if (!window.waits) add_late_edges(plan, window);
  }
}

bool UnitRanks::are_in_order(const Machine& machine) const {
  for (std::size_t d = 0; d < std::min(machine.devices.size(), is_out_of_order_.size()); ++d) {
    if (is_out_of_order_[d]) return false;
  }
  return true;
}

UnitRanks::UnitRanks(const Plan& plan) {
  if (plan.windows.empty()) return;
  first_ = plan.windows.front().first.index();
  ranks_.resize(plan.units.size() - first_, Duration{0});
  loads_.reserve(plan.windows.size());
  for (const Window& window : plan.windows) loads_.push_back(largest_load(window));
  ShareTable<> shares;
  std::vector<std::int64_t> after;  // by resource: the priority of the item after this one
  for (std::size_t w = plan.windows.size(); w-- > 0;) {
    const Window& window = plan.windows[w];
    shares.enter(window);
    after.assign(shares.size(), 0);
    is_out_of_order_.resize(shares.size());
    for (std::size_t u = window.first.index() + window.items; u-- > window.first.index();) {
      const ItemRef ref = plan.units[u].ref;
      const Share& share = shares[ref.resource];
      const Duration rank = ranks_[u - first_] + time_of(share, ref.item);
      ranks_[u - first_] = rank;
      std::int64_t& next = after[ref.resource.index()];
      const std::int64_t priority = priority_of(rank, loads_[w]);
      if (priority < next) is_out_of_order_[ref.resource.index()] = true;
      next = priority;
      for (const ReplicaId input : share.inputs_of(ref.item)) {
        const std::size_t maker = input.index() - first_;
        if (maker >= ranks_.size()) continue;  // the input was made in a window planned earlier
        if (ranks_[maker] < rank) ranks_[maker] = rank;
      }
    }
  }
}

void order_by_priority(Plan& plan, const Machine& machine, const UnitRanks& rank) {
  std::vector<UnitId> order;
  for (std::size_t w = 0; w < plan.windows.size(); ++w) {
    for (auto& [resource, share] : plan.windows[w].shares) {
      if (resource.index() >= machine.devices.size()) continue;
      if (rank.are_in_order(resource)) continue;
      const auto is_first = [&](UnitId a, UnitId b) {
        return rank.priority(w, a) > rank.priority(w, b);
      };
      order.clear();
      for (std::uint32_t i = 0; i < share.size(); ++i) order.push_back(share.items[i].unit);
      std::stable_sort(order.begin(), order.end(), is_first);
      permute_items(share, plan, order);
      for (std::uint32_t item = 0; item < share.size(); ++item) {
        plan.units[share.items[item].unit.index()].ref.item = item;
      }
    }
  }
}

}  // namespace troupe
