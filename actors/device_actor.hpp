// A device as an actor.
#pragma once

#include "actors/clock.hpp"
#include "core/backend/backend.hpp"
#include "core/backend/memory_store.hpp"
#include "core/backend/registry.hpp"
#include "core/plan/share.hpp"

#include <memory>

#include <caf/all.hpp>

namespace troupe {

// What actors of one run work on; it outlives them.
struct Stage {
  const Machine& machine;
  const OpRegistry& ops;
  MemoryStore& store;
  Clock& clock;
  Mode mode;
};

// Spawns the actor of `device` on a thread of ActorThreads; none where time is virtual.
caf::actor spawn_device(caf::actor_system& system, const Stage& stage, DeviceId device,
                        const caf::actor& coordinator, caf::execution_unit* thread);

}  // namespace troupe
