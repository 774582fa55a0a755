// A link as an actor.
#pragma once

#include "actors/device_actor.hpp"

namespace troupe {

// Spawns the actor of `link`; `detached` gives it a thread of its own.
caf::actor spawn_link(caf::actor_system& system, const Stage& stage, LinkId link,
                      const caf::actor& coordinator, bool detached);

}  // namespace troupe
