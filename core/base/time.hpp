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

// What no run may take: leaves room to add such times up.
constexpr Duration longest_duration = std::chrono::hours(24 * 365 * 100);

// Rounds to the nearest nanosecond, and to longest_duration above. `s` must not be negative.
constexpr Duration from_seconds(double s) {
  if (s >= seconds(longest_duration)) return longest_duration;
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): std::lround isn't constexpr
  return Duration{static_cast<std::int64_t>(s * 1e9 + 0.5)};
}

}  // namespace troupe
