#include "core/machine/route.hpp"

#include <queue>

namespace troupe {

const Route* Router::route(MemoryId from, MemoryId to) {
  searched_.resize(machine_->memories.size(), false);
  if (!searched_[from.index()]) search(from);
  const auto found = routes_.find({from, to});
  return found == routes_.end() ? nullptr : &found->second;
}

void Router::search(MemoryId from) {
  constexpr double probe_bytes = 1 << 20;
  struct Reached {
    double time_s;
    MemoryId memory;
    bool operator>(const Reached& other) const {
      return std::pair(time_s, memory) > std::pair(other.time_s, other.memory);
    }
  };
  searched_[from.index()] = true;
  std::vector<bool> settled(machine_->memories.size(), false);
  std::map<MemoryId, double> best = {{from, 0.0}};
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> frontier;
  routes_[{from, from}] = {};
  frontier.push({0.0, from});
  while (!frontier.empty()) {
    const Reached here = frontier.top();
    frontier.pop();
    if (settled[here.memory.index()]) continue;
    settled[here.memory.index()] = true;
    for (std::size_t l = 0; l < machine_->links.size(); ++l) {
      const Link& link = machine_->links[l];
      for (const Direction d : {Direction::forward, Direction::backward}) {
        if (link.source(d) != here.memory) continue;
        const MemoryId next = link.target(d);
        const double time_s =
            here.time_s + seconds(link.latency) + probe_bytes / link.bandwidth[static_cast<int>(d)];
        const auto known = best.find(next);
        if (known != best.end() && known->second <= time_s) continue;
        best[next] = time_s;
        Route route = routes_[{from, here.memory}];
        route.push_back({LinkId::at(l), d});
        routes_[{from, next}] = std::move(route);
        frontier.push({time_s, next});
      }
    }
  }
}

}  // namespace troupe
