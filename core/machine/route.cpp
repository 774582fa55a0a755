#include "core/machine/route.hpp"

#include <queue>

namespace troupe {

const Route* Router::route(MemoryId from, MemoryId to) {
  searched_.resize(machine_->memories.size(), false);
  if (!searched_[from.index()]) search(from);
  const auto found = routes_.find({from, to});
  return found == routes_.end() ? nullptr : &found->second;
}

void Router::list_leaving() {
  leaving_.resize(machine_->memories.size());
  for (std::size_t l = 0; l < machine_->links.size(); ++l) {
    for (const Direction d : {Direction::forward, Direction::backward}) {
      leaving_[machine_->links[l].source(d).index()].push_back({LinkId::at(l), d});
    }
  }
}

void Router::search(MemoryId from) {
  constexpr double probe_bytes = 1 << 20;
  if (leaving_.empty()) list_leaving();
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
    for (const Hop& hop : leaving_[here.memory.index()]) {
      const Link& link = machine_->link(hop.link);
      const MemoryId next = link.target(hop.direction);
      const double bandwidth = link.bandwidth[static_cast<int>(hop.direction)];
      const double time_s = here.time_s + seconds(link.latency) + probe_bytes / bandwidth;
      const auto known = best.find(next);
      if (known != best.end() && known->second <= time_s) continue;
      best[next] = time_s;
      Route route = routes_[{from, here.memory}];
      route.push_back(hop);
      routes_[{from, next}] = std::move(route);
      frontier.push({time_s, next});
    }
  }
}

}  // namespace troupe
