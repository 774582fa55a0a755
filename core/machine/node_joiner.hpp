// Makes one machine of several nodes.
#pragma once

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/machine/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

// What joins nodes: a switch, or several if there are racks. Each node has a link to a switch.
struct NetworkSpec {
  double bandwidth = 0;  // bytes per second, of each node, in each direction
  Duration latency{0};   // between two nodes of a rack
  std::uint64_t chunk_bytes = 64 << 10;
  std::size_t rack = 0;         // nodes that share a switch; 0: all
  double oversubscription = 1;  // of racks: 4 means a quarter of what their nodes have
  SourcePlace place = {};
};

// Adds nodes to a machine that has none of its own, and then what joins them.
//
//   NodeJoiner joiner(machine);
//   joiner.add_node("n0", part, MemoryId::at(0));
//   joiner.add_node("n1", part, MemoryId::at(0));
//   joiner.add_network({.bandwidth = 12.5e9, .latency = std::chrono::microseconds(5)});
class NodeJoiner {
 public:
  // The machine must outlive the joiner.
  explicit NodeJoiner(Machine& machine) : machine_(machine) {}

  // Adds the parts of `part`, whose names get the node's in front: "n0.cpu0". The network will read
  // and write `joined`, a memory of `part`. The name must not be taken.
  void add_node(const std::string& name, const Machine& part, MemoryId joined);
  // Adds switches and links, "n0.network" being that of node n0.
  void add_network(const NetworkSpec& network);

 private:
  MemoryId add_switch(std::string name, const SourcePlace& place);
  void join(Link link, MemoryId a, MemoryId b);

  Machine& machine_;
  std::vector<MemoryId> joined_;  // by node: the memory that the network reads and writes
};

// The memory that a network reads and writes where none is named: the first of the host. None if
// the machine has only memories of GPUs.
MemoryId default_network_memory(const Machine& machine);

}  // namespace troupe
