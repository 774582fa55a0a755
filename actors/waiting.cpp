#include "actors/waiting.hpp"

#include "actors/virtual_time.hpp"
#include "core/base/assert.hpp"
#include "core/base/steady_now.hpp"

#include <chrono>
#include <cstddef>
#include <thread>

namespace troupe {

Duration time_to_block(caf::actor_system& system, Duration real_time) {
  return VirtualTime::find(system) != nullptr ? Duration{0} : real_time;
}

void let_pass(caf::actor_system& system) {
  VirtualTime* const time = VirtualTime::find(system);
  if (time == nullptr) return;
  const std::size_t steps = time->run(1);
  TROUPE_ASSERT(steps > 0);
}

Instant present(caf::actor_system& system) {
  if (VirtualTime* const time = VirtualTime::find(system)) return time->clock().instant();
  return steady_now();
}

void rest_for(caf::actor_system& system, Duration real_time) {
  std::this_thread::sleep_for(time_to_block(system, real_time));
  let_pass(system);
}

void wait_for_end(caf::actor_system& system, std::span<const caf::actor> actors) {
  const caf::scoped_actor self(system);
  std::size_t left = 0;
  for (const caf::actor& actor : actors) {
    if (!actor) continue;
    self->monitor(actor);
    ++left;
  }
  while (left > 0) {
    self->receive(
        [&](const caf::down_msg&) { --left; },
        caf::after(time_to_block(system, std::chrono::hours(1))) >> [&] { let_pass(system); });
  }
}

}  // namespace troupe
