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

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

  // A process that the leader misses is followed by another one, with the same address, within this
  // time. The old one may live on.
  void restart_within(Duration time) { restart_within_ = time; }

  // What befalls a node, so long from now. It dies: its host says so to those that are connected to
  // it, or nobody does.
  void kill(std::size_t node, Duration from_now, bool is_noticed);
  // It stops, and goes on after `time`, as if nothing had happened.
  void suspend(std::size_t node, Duration from_now, Duration time);
  // Two nodes can't reach each other any more, and blame each other.
  void disconnect(std::size_t a, std::size_t b, Duration from_now);

 private:
  struct Process {
    Process(VirtualNodes& nodes, Place at, caf::actor serving)
        : place(at),
          agent(std::move(serving)),
          connection(nodes.setup_->system(), nodes.network_, place, agent) {}

    const Place place;
    const caf::actor agent;
    VirtualControl connection;
  };
  void start(std::size_t node, Place place);
  void lose(std::size_t node, Process& process);

  const std::shared_ptr<ActorSystemSetup> setup_;
  VirtualNetwork network_;
  VirtualWires wires_{network_};
  const std::vector<Machine> machines_;  // by node
  const OpRegistry& ops_;
  const Duration node_timeout_;
  std::optional<Duration> restart_within_;
  std::deque<Process> processes_;
  std::vector<Process*> at_;  // the last one of each node
};

}  // namespace troupe::testing
