// Waiting for actors on a thread that isn't one of theirs, in real or virtual time.
//
//   self->receive(…, caf::after(time_to_block(system, 20ms)) >> [&] { let_pass(system); });
#pragma once

#include "core/base/time.hpp"

#include <span>

#include <caf/all.hpp>

namespace troupe {

// How long a receive may block before it looks around: `real_time`, or 0 under virtual time, where
// nothing happens while a thread blocks.
Duration time_to_block(caf::actor_system& system, Duration real_time);

// Takes a step of virtual time, of which there must be one left. Does nothing in real time.
void let_pass(caf::actor_system& system);

// The time of the steady clock, or virtual time.
Instant present(caf::actor_system& system);

// Blocks for `real_time`, or takes a step of virtual time like let_pass().
void rest_for(caf::actor_system& system, Duration real_time);

// Blocks until the actors have ended. Null ones have.
void wait_for_end(caf::actor_system& system, std::span<const caf::actor> actors);

}  // namespace troupe
