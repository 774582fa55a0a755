#include "core/machine/memory_tree.hpp"

#include <algorithm>

namespace troupe {

MemoryTree::MemoryTree(const Machine& machine) : places_(machine.memories.size()) {
  find_blocks(machine);
  for (const MemoryId m : found_) {
    Place& place = places_[m.index()];
    place.root = place.gate ? places_[place.gate.index()].root : m;
    if (place.gate) place.depth = places_[place.gate.index()].depth + 1;
  }
  for (std::size_t i = found_.size(); i-- > 0;) {
    const Place& place = places_[found_[i].index()];
    if (place.gate) places_[place.gate.index()].size += place.size;
  }
  std::vector<std::uint32_t> next(places_.size());  // position behind the gate's regions so far
  std::uint32_t next_island = 0;
  for (const MemoryId m : found_) {
    Place& place = places_[m.index()];
    std::uint32_t& after = place.gate ? next[place.gate.index()] : next_island;
    place.begin = after;
    after += place.size;
    next[m.index()] = place.begin + 1;
  }
}

// Depth first (Hopcroft, Tarjan: Algorithm 447, CACM 16(6), 1973), without recursion: a chain of
// memories may be long.
void MemoryTree::find_blocks(const Machine& machine) {
  std::vector<std::vector<MemoryId>> neighbours(places_.size());
  for (const Link& link : machine.links) {
    neighbours[link.a.index()].push_back(link.b);
    neighbours[link.b.index()].push_back(link.a);
  }
  struct Visit {
    MemoryId memory;
    std::size_t next = 0;  // of its neighbours
  };
  std::vector<Visit> visits;
  std::vector<std::uint32_t> number(places_.size(), 0);  // in order of the search; 0: not found
  std::vector<std::uint32_t> lowest(places_.size());     // that a way over others behind leads to
  std::vector<MemoryId> open;                            // found, and not in a block
  const auto enter = [&](MemoryId m) {
    found_.push_back(m);
    number[m.index()] = lowest[m.index()] = static_cast<std::uint32_t>(found_.size());
    visits.push_back({m});
  };
  const auto lower = [&](MemoryId m, std::uint32_t n) {
    lowest[m.index()] = std::min(lowest[m.index()], n);
  };
  for (std::size_t r = 0; r < places_.size(); ++r) {
    if (number[r] != 0) continue;
    roots_.push_back(MemoryId::at(r));
    enter(roots_.back());
    while (true) {
      const MemoryId here = visits.back().memory;
      if (visits.back().next < neighbours[here.index()].size()) {
        const MemoryId to = neighbours[here.index()][visits.back().next++];
        if (number[to.index()] == 0) {
          enter(to);
          open.push_back(to);
        } else {
          lower(here, number[to.index()]);
        }
        continue;
      }
      visits.pop_back();
      if (visits.empty()) break;
      const MemoryId gate = visits.back().memory;
      lower(gate, lowest[here.index()]);
      if (lowest[here.index()] < number[gate.index()]) continue;
      const auto first = std::find(open.rbegin(), open.rend(), here).base() - 1;
      for (auto m = first; m != open.end(); ++m) {
        places_[m->index()].gate = gate;
        places_[m->index()].block = static_cast<std::uint32_t>(blocks_.size());
      }
      blocks_.emplace_back(first, open.end());
      open.erase(first, open.end());
    }
  }
}

}  // namespace troupe
