#include "core/machine/route.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace troupe {

std::uint16_t chunk_count(const Machine& machine, std::span<const Hop> route, std::uint64_t bytes) {
  constexpr std::uint64_t chunks_max = 0xFFFF;
  std::uint64_t chunk = machine.link(route[0].link).chunk_bytes;
  bool whole = route.size() == 1;
  for (const Hop& hop : route) {
    const Link& link = machine.link(hop.link);
    chunk = std::min(chunk, link.chunk_bytes);
    whole = whole && link.sharing == Sharing::fifo;
  }
  if (whole) return 1;
  return static_cast<std::uint16_t>(
      std::clamp<std::uint64_t>((bytes + chunk - 1) / chunk, 1, chunks_max));
}

MemoryId nearest_memory(const Machine& machine, MemoryId memory) {
  MemoryId nearest;
  double least = std::numeric_limits<double>::infinity();
  for (const Link& link : machine.links) {
    if (link.a != memory && link.b != memory) continue;
    const MemoryId other = link.a == memory ? link.b : link.a;
    const double seconds_a_byte = 1 / link.bandwidth[0] + 1 / link.bandwidth[1];
    if (machine.memory(other).kind == MemoryKind::network || seconds_a_byte >= least) continue;
    nearest = other;
    least = seconds_a_byte;
  }
  return nearest;
}

Router::Router(const Machine& machine)
    : machine_(&machine), tree_(machine), leaving_(machine.memories.size()) {
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    for (const Direction d : {Direction::forward, Direction::backward}) {
      leaving_[machine.links[l].source(d).index()].push_back({LinkId::at(l), d});
    }
  }
  for (std::vector<Hop>& hops : leaving_) {
    std::stable_sort(hops.begin(), hops.end(), [this](const Hop& a, const Hop& b) {
      return block_of(a.link) < block_of(b.link);
    });
  }
}

std::uint32_t Router::block_of(LinkId link) const {
  const auto [a, b] = std::pair(machine_->link(link).a, machine_->link(link).b);
  return tree_.block(tree_.depth(a) > tree_.depth(b) ? a : b);
}

const Route* Router::route(MemoryId from, MemoryId to) {
  if (!tree_.are_joined(from, to)) return nullptr;
  const auto known = routes_.find(key(from, to));
  if (known != routes_.end()) return &known->second;
  Route found;
  find(from, to, found);
  return &routes_.try_emplace(key(from, to), std::move(found)).first->second;
}

// Goes from both ends through the gates to where the ways meet.
bool Router::find(MemoryId from, MemoryId to, Route& found) {
  found.clear();
  if (!tree_.are_joined(from, to)) return false;
  const auto append = [&](MemoryId a, MemoryId b, std::uint32_t block) {
    const Route& part = within_block(a, b, block);
    found.insert(found.end(), part.begin(), part.end());
  };
  down_.clear();
  while (from != to) {
    if (tree_.block(from) == tree_.block(to)) {
      append(from, to, tree_.block(from));
      break;
    }
    if (tree_.depth(from) >= tree_.depth(to)) {
      append(from, tree_.gate(from), tree_.block(from));
      from = tree_.gate(from);
    } else {
      down_.push_back(to);
      to = tree_.gate(to);
    }
  }
  for (auto m = down_.rbegin(); m != down_.rend(); ++m) {
    append(tree_.gate(*m), *m, tree_.block(*m));
  }
  return true;
}

const Route& Router::within_block(MemoryId from, MemoryId to, std::uint32_t block) {
  auto known = routes_.find(key(from, to));
  if (known == routes_.end()) {
    search(from, block);
    known = routes_.find(key(from, to));
  }
  return known->second;
}

void Router::search(MemoryId from, std::uint32_t block) {
  constexpr double probe_bytes = 1 << 20;
  struct Reached {
    double time_s;
    MemoryId memory;
    bool operator>(const Reached& other) const {
      return std::pair(time_s, memory) > std::pair(other.time_s, other.memory);
    }
  };
  struct Best {
    double time_s = 0;
    bool is_settled = false;
  };
  std::unordered_map<MemoryId, Best> best = {{from, {}}};
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> frontier;
  routes_[key(from, from)] = {};
  frontier.push({0.0, from});
  while (!frontier.empty()) {
    const Reached here = frontier.top();
    frontier.pop();
    if (std::exchange(best[here.memory].is_settled, true)) continue;
    const std::vector<Hop>& hops = leaving_[here.memory.index()];
    auto hop = std::partition_point(hops.begin(), hops.end(),
                                    [&](const Hop& h) { return block_of(h.link) < block; });
    for (; hop != hops.end() && block_of(hop->link) == block; ++hop) {
      const Link& link = machine_->link(hop->link);
      const MemoryId next = link.target(hop->direction);
      const double bandwidth = link.bandwidth[static_cast<int>(hop->direction)];
      const double time_s = here.time_s + seconds(link.latency) + probe_bytes / bandwidth;
      const auto [known, is_new] = best.try_emplace(next, Best{time_s});
      if (!is_new && known->second.time_s <= time_s) continue;
      known->second.time_s = time_s;
      Route route = routes_[key(from, here.memory)];
      route.push_back(*hop);
      routes_[key(from, next)] = std::move(route);
      frontier.push({time_s, next});
    }
  }
}

}  // namespace troupe
