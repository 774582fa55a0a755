#include "actors/session/refuges.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {

Refuges::Refuges(const Machine& machine, const WindowRoom& room)
    : machine_(machine), router_(machine) {
  for (std::size_t m = 0; m < machine.memories.size(); ++m) {
    available_.push_back(room.spare(MemoryId::at(m)));
  }
}

MemoryId Refuges::take(MemoryId from, std::uint64_t bytes) {
  MemoryId best;
  for (std::size_t m = 0; m < available_.size(); ++m) {
    const MemoryId memory = MemoryId::at(m);
    if (memory == from || machine_.memory(memory).kind == MemoryKind::network) continue;
    if (best && !is_better(memory, best, from)) continue;
    if (has_room_on_the_way(from, memory, bytes)) best = memory;
  }
  if (!best) return best;
  router_.find(from, best, route_);
  for (const Hop& hop : route_) {
    available_[machine_.link(hop.link).target(hop.direction).index()] -= bytes;
  }
  return best;
}

bool Refuges::is_better(MemoryId a, MemoryId b, MemoryId from) const {
  const auto rank = [&](MemoryId m) {
    const Memory& memory = machine_.memory(m);
    return std::tuple(memory.node == machine_.memory(from).node, memory.kind == MemoryKind::ram,
                      available_[m.index()]);
  };
  return rank(a) > rank(b);
}

bool Refuges::has_room_on_the_way(MemoryId from, MemoryId to, std::uint64_t bytes) {
  if (!router_.find(from, to, route_)) return false;
  if (available_[to.index()] < bytes) return false;
  for (const Hop& hop : route_) {
    const MemoryId next = machine_.link(hop.link).target(hop.direction);
    if (available_[next.index()] >= bytes) continue;
    full_ = next;
    return false;
  }
  return true;
}

}  // namespace troupe
