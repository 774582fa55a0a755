// Time as the actors of a run see it, real or virtual.
#pragma once

#include "core/base/time.hpp"
#include "core/run/lookahead.hpp"

#include <cstdint>

#include <caf/all.hpp>

namespace troupe {

// An actor that starts timers.
class TimerListener : public LookaheadTarget {
 public:
  // The timer of this lane has expired. Called while no message of this actor is being handled, and
  // never from two threads at once.
  virtual void on_timer(std::uint32_t lane) = 0;
  virtual caf::strong_actor_ptr handle() = 0;

 protected:
  ~TimerListener() = default;
};

// All functions may be called from any actor's thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Current time. Not before anything that this thread did earlier, or that another thread did
  // before it sent a message which this thread has received.
  virtual Instant instant() const = 0;
  // Current time, given a lower bound. Cheaper than instant(): the reading may be taken before
  // preceding instructions have completed.
  virtual Instant instant_after(Instant earlier) const = 0;
  // Calls listener.on_timer(lane) after `delay`. The listener must exist until then; its actor may
  // have quit.
  virtual void start_timer(Duration delay, TimerListener& listener, std::uint32_t lane) = 0;
  // Where to say which notices are sent; null where looking ahead doesn't pay (lookahead.hpp).
  virtual NoticeLookahead* lookahead() { return nullptr; }
};

}  // namespace troupe
