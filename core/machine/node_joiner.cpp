#include "core/machine/node_joiner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace troupe {

void NodeJoiner::add_node(const std::string& name, const Machine& part, MemoryId joined) {
  const NodeId node = NodeId::at(machine_.nodes.size());
  machine_.nodes.push_back(name);
  const std::size_t first = machine_.memories.size();
  const auto moved = [&](MemoryId m) { return MemoryId::at(first + m.index()); };
  const auto add = [&](const auto& from, auto& to, const auto& change) {
    for (auto copy : from) {
      copy.name = fmt::format("{}.{}", name, copy.name);
      copy.node = node;
      change(copy);
      to.push_back(std::move(copy));
    }
  };
  add(part.memories, machine_.memories, [](Memory&) {});
  add(part.devices, machine_.devices, [&](Device& d) { d.memory = moved(d.memory); });
  add(part.links, machine_.links, [&](Link& l) {
    l.a = moved(l.a);
    l.b = moved(l.b);
  });
  joined_.push_back(moved(joined));
}

// Half of the latency between two nodes is paid on each of the links that join them to a switch.
void NodeJoiner::add_network(const NetworkSpec& network) {
  Link link{.name = {},
            .sharing = Sharing::fair,
            .chunk_bytes = network.chunk_bytes,
            .place = network.place};
  link.bandwidth[0] = link.bandwidth[1] = network.bandwidth;
  link.latency = network.latency / 2;
  const std::size_t nodes = joined_.size();
  const std::size_t rack = network.rack == 0 ? nodes : network.rack;
  const MemoryId top = add_switch("network", network.place);
  for (std::size_t i = 0; i < nodes; i += rack) {
    MemoryId leaf = top;
    if (rack < nodes) {
      const std::string name = fmt::format("network.rack{}", i / rack);
      leaf = add_switch(name, network.place);
      Link up = link;
      up.name = name + ".up";
      up.bandwidth[0] = up.bandwidth[1] =
          network.bandwidth * static_cast<double>(rack) / network.oversubscription;
      join(std::move(up), leaf, top);
    }
    for (std::size_t n = i; n < std::min(i + rack, nodes); ++n) {
      Link own = link;
      own.name = machine_.nodes[n] + ".network";
      own.node = NodeId::at(n);
      join(std::move(own), joined_[n], leaf);
    }
  }
}

MemoryId NodeJoiner::add_switch(std::string name, const SourcePlace& place) {
  machine_.memories.push_back(
      {.name = std::move(name), .kind = MemoryKind::network, .place = place});
  return MemoryId::at(machine_.memories.size() - 1);
}

void NodeJoiner::join(Link link, MemoryId a, MemoryId b) {
  link.a = a;
  link.b = b;
  machine_.links.push_back(std::move(link));
}

MemoryId default_network_memory(const Machine& machine) {
  for (std::size_t m = 0; m < machine.memories.size(); ++m) {
    if (is_host_ram(machine, MemoryId::at(m))) return MemoryId::at(m);
  }
  return MemoryId::none();
}

}  // namespace troupe
