// How the leader of a run gets its nodes.
#pragma once

#include "actors/nodes/cluster.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "core/base/time.hpp"
#include "core/ops/registry.hpp"

#include <span>
#include <string>
#include <vector>

#include <caf/all.hpp>
#include <fmt/format.h>

namespace troupe {

struct ConnectedNode {
  std::string address;  // as the user gave it
  caf::actor agent = {};
  Welcome has = {};
  Duration clock_offset{0};  // what the node's clock is behind the leader's

  // "node n1 (127.0.0.1:7420)"
  std::string label() const {
    return has.name.empty() ? "node " + address : fmt::format("node {} ({})", has.name, address);
  }
};

// Connects to the nodes of `options` and greets them for `leader`, all at the same time. Blocks;
// nodes that don't answer take one timeout together. Throws a usage Error that names all nodes that
// can't be reached, or that refuse the leader; a run Error if interrupted.
std::vector<ConnectedNode> connect_nodes(caf::actor_system& system, const caf::actor& leader,
                                         const OpRegistry& ops, const ClusterOptions& options);

// The same for one node that takes the place of `lost`, and is tried again until then. Throws a run
// Error if there is none or it doesn't answer, or if interrupted; a usage Error, at once, if it
// refuses the leader.
ConnectedNode await_node(caf::actor_system& system, const caf::actor& leader, const OpRegistry& ops,
                         ClusterOptions options, NodeId lost, Instant until);

// The nodes learn that their leader ends in good order. Blocks, for a second at most.
void say_goodbye(caf::actor_system& system, std::span<const ConnectedNode> nodes);

}  // namespace troupe
