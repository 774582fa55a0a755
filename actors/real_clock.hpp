// Real time for actors.
#pragma once

#include "actors/clock.hpp"

#include <caf/all.hpp>

namespace troupe {

// Reads the time as std::chrono::steady_clock has it, from the processor's time stamp counter where
// the system's own clock relies on it: that takes half as long, and each op takes a reading. A
// timer is a delayed message to the listener, which calls its own on_timer.
class RealClock final : public Clock {
 public:
  // The first one of a process blocks for some milliseconds, to measure the counter's rate.
  explicit RealClock(caf::actor_system& system);

  Instant instant() const override;
  Instant instant_after(Instant earlier) const override;
  void start_timer(Duration delay, TimerListener& listener, std::uint32_t lane) override;

 private:
  // A rate of 0: there is none.
  struct Counter {
    std::uint64_t base_ticks = 0;
    std::int64_t base_ns = 0;
    double ns_per_tick = 0;
  };
  static Counter measure();
  Instant at(std::uint64_t ticks) const;

  caf::actor_system& system_;
  const Counter counter_;
};

}  // namespace troupe
