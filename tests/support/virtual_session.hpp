// A session on nodes that are in this process, under virtual time.
#pragma once

#include "actors/session/session_core.hpp"
#include "tests/support/virtual_nodes.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

// `count` devices, each with a memory of its own, the first two joined by a link.
inline Machine session_node(std::size_t count, std::uint64_t memory_bytes) {
  Machine machine;
  machine.name = "node";
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    machine.memories.push_back({.name = "mem" + number, .size_bytes = memory_bytes});
    machine.devices.push_back(
        {.name = "cpu" + number, .memory = MemoryId::at(i), .flops = 1e9, .bandwidth = 1e9});
  }
  if (count > 1) {
    machine.links = {{.name = "copy", .a = MemoryId{0}, .b = MemoryId{1}, .bandwidth = {1e9, 1e9}}};
  }
  return machine;
}

class VirtualSession {
 public:
  static constexpr Duration node_timeout = std::chrono::milliseconds(5);

  // The op kinds must outlive it.
  VirtualSession(std::uint64_t seed, const std::vector<Machine>& machines,
                 const OpRegistry& ops = builtin_ops(), Duration delay_max = Duration{0})
      : nodes_(seed, machines, ops, {.nodes = machines.size(), .delay_max = delay_max},
               node_timeout) {
    SessionHost host(ops);
    host.cluster = std::make_unique<Cluster>(*host.ops, nodes_.options());
    host.machine = host.cluster->machine();
    session_ = SessionCore::session_on(std::move(host), Mode::rehearse, seed);
  }

  Session& operator*() { return *session_; }
  Session* operator->() { return session_.get(); }
  VirtualNodes& nodes() { return nodes_; }

 private:
  VirtualNodes nodes_;
  std::unique_ptr<Session> session_;
};

}  // namespace troupe::testing
