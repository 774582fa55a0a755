// Time as integer nanoseconds. Nothing in core reads a clock: instants come in with events.
#pragma once

#include <chrono>
#include <cstdint>

namespace troupe {

// The clock of one run. Its epoch is the start of the run; it is never read here, only counted.
struct RunClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<RunClock>;
  static constexpr bool is_steady = true;
};

using Duration = RunClock::duration;
using Instant = RunClock::time_point;

constexpr double seconds(Duration d) {
  return static_cast<double>(d.count()) * 1e-9;
}

// Rounds to the nearest nanosecond. `s` must be finite and below 292 years.
constexpr Duration from_seconds(double s) {
  return Duration{static_cast<std::int64_t>(s * 1e9 + (s < 0 ? -0.5 : 0.5))};
}

}  // namespace troupe
