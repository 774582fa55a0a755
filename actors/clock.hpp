// Time as the actors of a run see it, real or virtual.
#pragma once

#include "core/base/time.hpp"
#include "core/plan/share.hpp"

#include <cstdint>

#include <caf/all.hpp>

namespace troupe {

// An actor that sets alarms, and may be told what is near.
class TimerListener {
 public:
  // The time of an alarm for this lane has come. Called where no message of this actor is being
  // handled, and never at the same time as one.
  virtual void on_timer(std::uint32_t lane) = 0;
  // The alarm is near: what it will touch may be fetched into the cache, and nothing else be done.
  // Comes once for each step, in their order, some alarms of others apart; where few others ring,
  // steps are left out.
  virtual void before_alarm(std::uint32_t lane, std::uint32_t step) = 0;
  // The same for a notice of `item` that waits in its mailbox.
  virtual void before_notice(std::uint32_t item, std::uint32_t step) = 0;
  static constexpr std::uint32_t steps_before = 3;
  virtual caf::strong_actor_ptr handle() = 0;

 protected:
  ~TimerListener() = default;
};

class Clock {
 public:
  virtual ~Clock() = default;
  // The present. What was done before it in this thread, and what a message that this thread has
  // received tells of, doesn't lie after it.
  virtual Instant instant() const = 0;
  // The present for one who knows that it isn't before `earlier`. The processor need not have
  // finished what was done before it in this thread.
  virtual Instant instant_after(Instant earlier) const = 0;
  // Calls sleeper.on_timer(lane) when `time` has passed. The sleeper must exist
  // until then, be it as an actor that has quit.
  virtual void start_timer(Duration time, TimerListener& sleeper, std::uint32_t lane) = 0;

  // For clocks that know what comes next and tell sleepers before it does: who they are, until
  // they quit, and that a notice of `item` is about to be sent to one.
  virtual void enlist(ResourceId, TimerListener&) {}
  virtual void strike_off(ResourceId, const TimerListener&) {}
  virtual void expect_notice(ResourceId, [[maybe_unused]] std::uint32_t item) {}
};

}  // namespace troupe
