// Devices and links of other processes, as the coordinator sees them: each has a stand-in here.
#pragma once

#include "actors/actor_system_setup.hpp"
#include "core/backend/link_use.hpp"
#include "core/plan/share.hpp"

#include <memory>

#include <caf/all.hpp>

namespace troupe {

class NodeResources {
 public:
  virtual ~NodeResources() = default;
  // Spawns an actor that takes and answers the coordinator's messages as the resource's own actor
  // would, which is on another node. `use` (may be null): where it is kept how a link copies.
  virtual caf::actor spawn_stand_in(caf::actor_system& system, ResourceId resource,
                                    const caf::actor& coordinator, LinkUse* use) = 0;
  // That of all actors, where the nodes are in this process, under virtual time; else null.
  virtual std::shared_ptr<ActorSystemSetup> shared_setup() = 0;
};

}  // namespace troupe
