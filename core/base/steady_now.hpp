// The clock of real runs.
#pragma once

#include "core/base/time.hpp"

#include <chrono>

namespace troupe {

// The time on std::chrono::steady_clock, by which the devices of a host agree.
inline Instant steady_now() {
  return Instant(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}

}  // namespace troupe
