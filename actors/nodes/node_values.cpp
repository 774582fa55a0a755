#include "actors/nodes/node_values.hpp"

#include "actors/nodes/machine_values.hpp"
#include "actors/nodes/packed_replicas.hpp"
#include "actors/nodes/packed_share.hpp"
#include "actors/nodes/share_records.hpp"
#include "core/graph/replica.hpp"
#include "core/plan/share.hpp"

#include <caf/all.hpp>

namespace troupe {

void add_node_values(caf::actor_system_config& config) {
  config.add_message_type<PackedError>("troupe::PackedError")
      .add_message_type<Machine>("troupe::Machine")
      .add_message_type<TensorType>("troupe::TensorType")
      .add_message_type<PackedShare>("troupe::PackedShare")
      .add_message_type<ShareRecords>("troupe::ShareRecords")
      .add_message_type<PackedReplicas>("troupe::PackedReplicas")
      .add_message_type<NodeId>("troupe::NodeId")
      .add_message_type<MemoryId>("troupe::MemoryId")
      .add_message_type<ResourceId>("troupe::ResourceId")
      .add_message_type<UnitId>("troupe::UnitId")
      .add_message_type<ReplicaId>("troupe::ReplicaId");
}

}  // namespace troupe
