// Devices and links of other processes, as the coordinator sees them: each has a stand-in here.
#pragma once

#include "core/plan/share.hpp"

#include <caf/all.hpp>

namespace troupe {

class NodeResources {
 public:
  virtual ~NodeResources() = default;
  // Spawns an actor that takes and answers the coordinator's messages as the resource's own actor
  // would, which is on another node.
  virtual caf::actor spawn_stand_in(caf::actor_system& system, ResourceId resource,
                                    const caf::actor& coordinator) = 0;
};

}  // namespace troupe
