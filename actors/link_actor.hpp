// A link as an actor.
#pragma once

#include "actors/run_context.hpp"
#include "core/base/id.hpp"

#include <caf/all.hpp>

namespace troupe {

// Spawns the actor of `link` on a thread of ActorThreads; none: it shares threads with other
// actors, or time is virtual.
caf::actor spawn_link(caf::actor_system& system, const RunContext& context, LinkId link,
                      const caf::actor& coordinator, caf::execution_unit* thread);

}  // namespace troupe
