// Time as integer nanoseconds. Planning and the logic of runs read no clock: instants are passed in
// with events.
#pragma once

#include <chrono>
#include <cstdint>

namespace troupe {

// The clock of one run, as a type for std::chrono. Its epoch is the start of the run. It has no
// now().
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

// The longest time that a run may take: about a third of what Duration can hold, so that the sum of
// two such times doesn't overflow.
constexpr Duration longest_duration = std::chrono::hours(24 * 365 * 100);

// Rounds to the nearest nanosecond. Returns longest_duration for any longer time. `s` must not be
// negative.
constexpr Duration from_seconds(double s) {
  if (s >= seconds(longest_duration)) return longest_duration;
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): std::lround isn't constexpr
  return Duration{static_cast<std::int64_t>(s * 1e9 + 0.5)};
}

// The same of a time in any unit. Returns 0 for a negative one, and for none at all (NaN).
template <class Rep, class Period>
constexpr Duration from_time(std::chrono::duration<Rep, Period> time) {
  const double s = std::chrono::duration<double>(time).count();
  return s > 0 ? from_seconds(s) : Duration{0};
}

}  // namespace troupe
