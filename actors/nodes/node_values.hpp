// The values of messages between nodes, which CAF's network layer carries.
#pragma once

#include <caf/fwd.hpp>

namespace troupe {

// Announces PackedError, Machine, TensorType, PackedShare, ShareRecords, PackedReplicas, and the
// ids of nodes, memories, resources, units and replicas as types of messages for the network.
void add_node_values(caf::actor_system_config& config);

}  // namespace troupe
