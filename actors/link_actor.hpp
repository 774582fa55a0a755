// A link as an actor.
#pragma once

#include "actors/run_context.hpp"
#include "core/base/id.hpp"

#include <caf/all.hpp>

namespace troupe {

// Spawns the actor of `link`, which shares threads with other actors.
caf::actor spawn_link(caf::actor_system& system, const RunContext& context, LinkId link,
                      const caf::actor& coordinator);

}  // namespace troupe
