// A device as an actor.
#pragma once

#include "actors/run_context.hpp"
#include "core/base/id.hpp"

#include <caf/all.hpp>

namespace troupe {

// Spawns the actor of `device` on a thread of ActorThreads; none where time is virtual.
caf::actor spawn_device(caf::actor_system& system, const RunContext& context, DeviceId device,
                        const caf::actor& coordinator, caf::execution_unit* thread);

}  // namespace troupe
