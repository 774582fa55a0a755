// Nodes in this process, under virtual time: with the agents, the shares, the wires' ports and the
// messages of real ones. The network between them, and what befalls them, are drawn from a seed.
#pragma once

#include "actors/actor_system_setup.hpp"
#include "actors/nodes/cluster.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"
#include "tests/support/virtual_control.hpp"
#include "tests/support/virtual_network.hpp"
#include "tests/support/virtual_wire.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <caf/all.hpp>

namespace troupe::testing {

class VirtualNodes {
 public:
  // The leader misses a node that has been silent for longer than `node_timeout`. The registry must
  // outlive the nodes.
  VirtualNodes(std::uint64_t seed, const std::vector<Machine>& machines, const OpRegistry& ops,
               const VirtualNetwork::Options& network, Duration node_timeout);
  ~VirtualNodes();
  VirtualNodes(const VirtualNodes&) = delete;
  VirtualNodes& operator=(const VirtualNodes&) = delete;

  // Of a Cluster of all these nodes, which must be gone before them.
  ClusterOptions options() const;

  VirtualNetwork& network() { return network_; }

  // What befalls a node, so long from now. It dies: its host says so to those that are connected to
  // it, or nobody does.
  void kill(Place node, Duration from_now, bool is_noticed);
  // It stops, and goes on after `time`, as if nothing had happened.
  void suspend(Place node, Duration from_now, Duration time);
  // Two nodes can't reach each other any more, and blame each other.
  void disconnect(Place a, Place b, Duration from_now);

 private:
  const std::shared_ptr<ActorSystemSetup> setup_;
  VirtualNetwork network_;
  VirtualWires wires_{network_};
  const Duration node_timeout_;
  std::vector<caf::actor> agents_;
  std::deque<VirtualControl> connections_;  // by node
};

}  // namespace troupe::testing
