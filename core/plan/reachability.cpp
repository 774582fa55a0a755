#include "core/plan/reachability.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::string_view remedy =
    "add a link between them to the machine, or place the op elsewhere";

}  // namespace

void Reachability::DisjointSets::reset(std::size_t count) {
  parents_.resize(count);
  std::iota(parents_.begin(), parents_.end(), 0U);
}

std::uint32_t Reachability::DisjointSets::find(std::uint32_t element) {
  while (parents_[element] != element) {
    element = parents_[element] = parents_[parents_[element]];
  }
  return element;
}

Reachability::Reachability(const Machine& machine)
    : machine_(machine), island_of_memory_(machine.memories.size()) {
  DisjointSets joined;
  joined.reset(machine.memories.size());
  for (const Link& link : machine.links) joined.unite(link.a.value, link.b.value);
  for (std::uint32_t m = 0; m < island_of_memory_.size(); ++m) {
    const std::uint32_t root = joined.find(m);
    if (root == m) island_of_memory_[m] = static_cast<Island>(island_count_++);
  }
  for (std::uint32_t m = 0; m < island_of_memory_.size(); ++m) {
    island_of_memory_[m] = island_of_memory_[joined.find(m)];
  }
}

void Reachability::enter(const Ops& ops) {
  if (island_count_ <= 1) return;
  std::size_t first = ops.graph.size();
  for (const WindowOps& window : ops.windows) {
    if (!window.ops.empty()) first = std::min(first, window.ops.front().index());
  }
  first_ = OpId::at(first);
  islands_.clear();
  known_.clear();
  known_both_.clear();
  clusters_.reset(ops.graph.size() - first);
  set_of_.assign(ops.graph.size() - first, store(Islands(island_count_, true)));
  for (const WindowOps& window : ops.windows) enter_window(ops, window);
  const IslandsId nowhere = store(Islands(island_count_, false));
  for (const WindowOps& window : ops.windows) {
    for (const OpId op : window.ops) {
      if (!ops.memory_of(op) && set_of_[cluster_of(op)] == nowhere) refuse(ops, op);
    }
  }
}

void Reachability::enter_window(const Ops& ops, const WindowOps& window) {
  std::vector<std::optional<IslandsId>> of_class(ops.graph.classes().size());
  for (const OpId op : window.ops) {
    const MemoryId memory = ops.memory_of(op);
    if (!memory) {
      std::optional<IslandsId>& known = of_class[ops.graph.class_index(op)];
      if (!known) known = store(where_it_can_run(ops, op, window.timed));
      narrow(op, *known);
    }
    for (const OpId input : ops.graph.inputs(op)) {
      const MemoryId from = ops.memory_of(input);
      if (memory && from) continue;  // routes are looked up when transfers are made
      if (memory) {
        narrow(input, only(island_of(memory)));
      } else if (from) {
        narrow(op, only(island_of(from)));
      } else {
        const IslandsId islands = set_of_[cluster_of(op)];
        clusters_.unite(cluster_of(input), cluster_of(op));
        narrow(input, islands);
      }
    }
  }
}

Reachability::Islands Reachability::where_it_can_run(const Ops& ops, OpId op, bool timed) const {
  Islands islands(island_count_, false);
  bool is_any = false;
  for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
    if (!ops.can_run(DeviceId::at(d), op, timed)) continue;
    islands[island_of(DeviceId::at(d))] = true;
    is_any = true;
  }
  if (!is_any) islands.flip();
  return islands;
}

Reachability::IslandsId Reachability::store(const Islands& islands) {
  const auto [found, is_new] = known_.try_emplace(islands, static_cast<IslandsId>(islands_.size()));
  if (is_new) islands_.push_back(islands);
  return found->second;
}

Reachability::IslandsId Reachability::only(Island island) {
  Islands islands(island_count_, false);
  islands[island] = true;
  return store(islands);
}

Reachability::IslandsId Reachability::both(IslandsId a, IslandsId b) {
  if (a == b) return a;
  const auto [found, is_new] = known_both_.try_emplace(std::minmax(a, b), IslandsId{0});
  if (is_new) {
    Islands islands = islands_[a];
    for (std::size_t i = 0; i < islands.size(); ++i) islands[i] = islands[i] && islands_[b][i];
    found->second = store(islands);
  }
  return found->second;
}

void Reachability::narrow(OpId op, IslandsId islands) {
  IslandsId& known = set_of_[cluster_of(op)];
  known = both(known, islands);
}

// Says why no island is left for the cluster of `op`, its first op.
void Reachability::refuse(const Ops& ops, OpId op) const {
  const auto is_here = [&](OpId o) { return !ops.memory_of(o) && cluster_of(o) == cluster_of(op); };
  OpId tied;  // a placed op that one of the cluster reads, or that reads one of it
  const auto tie = [&](OpId placed) {
    if (!tied) tied = placed;
    const MemoryId a = ops.memory_of(tied);
    const MemoryId b = ops.memory_of(placed);
    if (island_of(a) == island_of(b)) return;
    throw usage_error(
        ops.graph.place(op),
        fmt::format("no placement exists for '{}': directly or through other ops it is connected "
                    "to '{}' in {} and to '{}' in {}, and there is no route between the two",
                    ops.graph.name(op), ops.graph.name(tied), machine_.memory(a).name,
                    ops.graph.name(placed), machine_.memory(b).name),
        std::string(remedy));
  };
  std::set<std::string_view> kinds;
  for (const WindowOps& window : ops.windows) {
    for (const OpId reader : window.ops) {
      if (is_here(reader)) kinds.insert(ops.graph.kind(reader).name);
      for (const OpId input : ops.graph.inputs(reader)) {
        if (is_here(reader) && ops.memory_of(input)) tie(input);
        if (is_here(input) && ops.memory_of(reader)) tie(reader);
      }
    }
  }
  if (tied) refuse_tied(ops, op, tied);
  throw usage_error(ops.graph.place(op),
                    fmt::format("no placement exists for '{}' and the ops that it is connected to: "
                                "no devices joined by links have kernels for all of {}",
                                ops.graph.name(op), fmt::join(kinds, ", ")),
                    std::string(remedy));
}

// For a cluster that must be on the island of `placed`, where no device can run one of its ops.
void Reachability::refuse_tied(const Ops& ops, OpId op, OpId placed) const {
  const MemoryId memory = ops.memory_of(placed);
  OpId stuck = op;
  for (const WindowOps& window : ops.windows) {
    for (const OpId other : window.ops) {
      if (ops.memory_of(other) || cluster_of(other) != cluster_of(op)) continue;
      if (!where_it_can_run(ops, other, window.timed)[island_of(memory)]) stuck = other;
    }
  }
  throw usage_error(
      ops.graph.place(stuck),
      fmt::format("no placement exists for '{}': directly or through other ops it is connected "
                  "to '{}' in {}, and no device with a route to there has a kernel for '{}'",
                  ops.graph.name(stuck), ops.graph.name(placed), machine_.memory(memory).name,
                  ops.graph.kind(stuck).name),
      std::string(remedy));
}

}  // namespace troupe
