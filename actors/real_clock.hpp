// The clock of real runs.
#pragma once

#include "actors/clock.hpp"

#include <caf/all.hpp>

namespace troupe {

// Gives the time of std::chrono::steady_clock. Reads the processor's time stamp counter instead if
// the system's own clock uses it: each op takes a reading, and this one takes half as long. A timer
// is a delayed SlotDone message to the listener's actor.
class RealClock final : public Clock {
 public:
  // Blocks for about 10 ms the first time in a process, to measure the counter's rate.
  explicit RealClock(caf::actor_system& system);

  Instant instant() const override;
  Instant instant_after(Instant earlier) const override;
  void start_timer(Duration delay, TimerListener& listener, std::uint32_t slot) override;

 private:
  // The counter is not used if ns_per_tick is 0.
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
