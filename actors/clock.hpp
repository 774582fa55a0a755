// The clock of a run's actors: real or virtual time.
#pragma once

#include "core/base/time.hpp"
#include "core/run/lookahead.hpp"

#include <cstdint>

#include <caf/all.hpp>

namespace troupe {

// An actor that starts timers.
class TimerListener : public LookaheadTarget {
 public:
  // The timer of this slot has expired. Never runs at the same time as a message handler of this
  // actor or another call of on_timer().
  virtual void on_timer(std::uint32_t slot) = 0;
  virtual caf::strong_actor_ptr handle() = 0;

 protected:
  ~TimerListener() = default;
};

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Current time. The reading is taken after all preceding instructions of this thread have
  // completed, and after the sending of every message that this thread has received.
  virtual Instant instant() const = 0;
  // Current time, given a lower bound. Cheaper than instant(): the reading may be taken before
  // preceding instructions have completed.
  virtual Instant instant_after(Instant earlier) const = 0;
  // Calls listener.on_timer(slot) after `delay`. The listener must not be destroyed before; its
  // actor may have quit.
  virtual void start_timer(Duration delay, TimerListener& listener, std::uint32_t slot) = 0;
  // Null if looking ahead doesn't pay (lookahead.hpp). Else senders of notices must report each
  // notice to it.
  virtual NoticeLookahead* lookahead() { return nullptr; }
};

}  // namespace troupe
