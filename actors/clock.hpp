// The actors' clock: CAF's, virtual or steady, as core's Instant.
#pragma once

#include "core/base/time.hpp"

#include <caf/actor_clock.hpp>

namespace troupe {

inline Instant instant_of(const caf::actor_clock& clock) {
  return Instant{std::chrono::duration_cast<Duration>(clock.now().time_since_epoch())};
}

}  // namespace troupe
