// The way a tensor takes from one memory to another.
#pragma once

#include "core/machine/machine.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace troupe {

struct Hop {
  LinkId link;
  Direction direction = Direction::forward;
  friend bool operator==(const Hop&, const Hop&) = default;
};

using Route = std::vector<Hop>;

// Finds the quickest routes of one machine and remembers them.
class Router {
 public:
  // `machine` must outlive the router.
  explicit Router(const Machine& machine) : machine_(&machine) {}

  // The links to take, in order; quickest for a tensor of 1 MiB, latencies included (Dijkstra).
  // Always the same one among equals; of links between the same two memories the first. Empty where
  // `from` is `to`, null where there is no way. Stays valid as long as the router. The first call
  // for a source finds its routes to all memories; others look the route up.
  const Route* route(MemoryId from, MemoryId to);

 private:
  void list_leaving();
  void search(MemoryId from);

  const Machine* machine_;
  std::vector<std::vector<Hop>> leaving_;  // by memory: links in the machine's order
  std::map<std::pair<MemoryId, MemoryId>, Route> routes_;
  std::vector<bool> searched_;
};

}  // namespace troupe
