#include "actors/nodes/nodes_machine.hpp"

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/machine/fit.hpp"
#include "core/machine/node_joiner.hpp"
#include "core/network/socket_wire.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// What a transfer between two nodes takes where nothing was measured: TCP on one host, or on a
// network of 10 Gbit/s.
constexpr double network_bandwidth = 1.2e9;
constexpr Duration network_latency = std::chrono::microseconds(50);
// A notice waits for the chunk in front of it: some 200 us here.
constexpr std::uint64_t network_chunk_bytes = 1 << 20;

// Nodes connect with each other at the addresses on which they listen.
void check_reachable(std::span<const ConnectedNode> nodes) {
  for (const ConnectedNode& node : nodes) {
    if (!is_loopback_wire(node.has.address)) continue;
    const auto other = std::find_if(nodes.begin(), nodes.end(), [&](const ConnectedNode& n) {
      return n.has.host != node.has.host;
    });
    if (other == nodes.end()) return;
    throw usage_error(fmt::format("{} listens on loopback, where {}, on another host, can't "
                                  "reach it",
                                  node.label(), other->label()),
                      "start it with --listen and an address of its host that the others reach, "
                      "and name that one");
  }
}

}  // namespace

void check_alike(std::span<const ConnectedNode> nodes, bool uses_shared_memory) {
  const ConnectedNode& first = nodes.front();
  const bool uses_tls = is_tls_wire(first.has.address);
  for (const ConnectedNode& node : nodes) {
    if (uses_shared_memory && node.has.host != first.has.host) {
      throw usage_error(fmt::format("{} and {} are on different hosts, and share no memory",
                                    first.label(), node.label()),
                        "use --transport tcp");
    }
    if (uses_shared_memory && node.has.pids != first.has.pids) {
      throw usage_error(fmt::format("{} and {} are in containers of their own, and read each "
                                    "other's memory no more than on different hosts",
                                    first.label(), node.label()),
                        "use --transport tcp, or let them share a namespace of processes");
    }
    if (is_tls_wire(node.has.address) == uses_tls) continue;
    throw usage_error(
        fmt::format("{} sends tensors over TLS, and {} doesn't", (uses_tls ? first : node).label(),
                    (uses_tls ? node : first).label()),
        "start both with --trust-network, or both without");
  }
  check_reachable(nodes);
}

void name_nodes(std::span<ConnectedNode> nodes) {
  std::set<std::string> names;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    std::string& own = nodes[n].has.name;
    if (own.empty()) own = fmt::format("n{}", n);
    if (!names.insert(own).second) {
      throw usage_error(
          fmt::format("two nodes have the name '{}', the second at {}", own, nodes[n].address),
          "start one of them with another --name");
    }
  }
}

Machine join_machines(std::span<const ConnectedNode> nodes) {
  Machine machine;
  machine.name = format_count(nodes.size(), "node");
  NodeJoiner joiner(machine);
  for (const ConnectedNode& node : nodes) {
    const Machine& has = node.has.machine;
    joiner.add_node(node.has.name, has, default_network_memory(has));
  }
  if (nodes.size() > 1) {
    joiner.add_network({.bandwidth = network_bandwidth,
                        .latency = network_latency,
                        .chunk_bytes = network_chunk_bytes});
  }
  return machine;
}

std::vector<std::string> name_those_without_gpus(std::span<const ConnectedNode> nodes,
                                                 std::span<const MachineIs> answers) {
  std::map<std::string, std::string> names;  // by reason
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (answers[n].why_no_gpus.empty()) continue;
    std::string& same = names[answers[n].why_no_gpus];
    same += (same.empty() ? "" : ", ") + nodes[n].label();
  }
  std::vector<std::string> lines;
  lines.reserve(names.size());
  for (const auto& [reason, those] : names) lines.push_back(fmt::format("{}: {}", those, reason));
  return lines;
}

Machine with_own_cores(Machine machine, NodeId self, const Machine& joined, const Machine& has) {
  std::size_t own = 0;
  for (std::size_t d = 0; d < std::min(machine.devices.size(), joined.devices.size()); ++d) {
    Device& device = machine.devices[d];
    if (joined.devices[d].node != self || own == has.devices.size()) continue;
    const std::vector<int>& cores = has.devices[own++].cores;
    if (device.node == self && device.cores == joined.devices[d].cores) device.cores = cores;
  }
  return machine;
}

Machine with_all_cores(Machine machine, const Machine& joined) {
  std::vector<std::set<int>> cores(machine.nodes.size());
  for (const Device& device : joined.devices) {
    cores.at(device.node.index()).insert(device.cores.begin(), device.cores.end());
  }
  for (Device& device : machine.devices) {
    if (device.kind != DeviceKind::cpu || !device.cores.empty()) continue;
    const std::set<int>& all = cores[device.node.index()];
    device.cores.assign(all.begin(), all.end());
  }
  return machine;
}

void check_own(std::span<const GpuOfDevice> gpus, const Machine& machine, NodeId node) {
  for (const GpuOfDevice& gpu : gpus) {
    const std::size_t d = gpu.device.index();
    if (d < machine.devices.size() && machine.devices[d].node == node) continue;
    throw run_error(
        fmt::format("node {} names a GPU that isn't its own", machine.nodes[node.index()]));
  }
}

void check_fit(std::span<const GpuOfDevice> gpus, const Machine& machine) {
  Machine limited = machine;
  limit_gpu_memories(limited, gpus);
  Machine has;
  Machine planned;
  for (const GpuOfDevice& gpu : gpus) {
    const MemoryId memory = machine.device(gpu.device).memory;
    has.memories.push_back(limited.memory(memory));
    planned.memories.push_back(machine.memory(memory));
  }
  check_fit(has, planned);
}

void check_fit(const Machine& has, const Machine& lost) {
  const std::string lack = lack_of(has, lost);
  if (lack.empty()) return;
  throw run_error(lack, "start one with the same devices and as much memory");
}

}  // namespace troupe
