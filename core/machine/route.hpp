// Which links a tensor crosses from one memory to another.
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

  // The links of the quickest route for a tensor of 1 MiB, latencies included (Dijkstra). Among
  // equally quick routes the choice is always the same: of links between the same two memories, the
  // first. Empty if `from` is `to`, null if there is no route. Valid as long as the router. The
  // first call for a source finds its routes to all memories; later calls look the route up.
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
