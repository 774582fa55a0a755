// How an actor lets time pass for work that takes some.
#pragma once

#include "core/base/time.hpp"

#include <cstdint>

#include <caf/all.hpp>

namespace troupe {

// An actor that sets alarms.
class Sleeper {
 public:
  // The time of an alarm for this lane has come. Called where no message of this actor is being
  // handled, and never at the same time as one.
  virtual void on_alarm(std::uint32_t lane) = 0;
  virtual caf::strong_actor_ptr handle() = 0;

 protected:
  ~Sleeper() = default;
};

class AlarmClock {
 public:
  virtual ~AlarmClock() = default;
  // Calls sleeper.on_alarm(lane) when `time` has passed. The sleeper must exist
  // until then, be it as an actor that has quit.
  virtual void ring_after(Duration time, Sleeper& sleeper, std::uint32_t lane) = 0;
};

// Real time: the alarm is a delayed message to the sleeper, who calls its own on_alarm.
class MailboxAlarms final : public AlarmClock {
 public:
  explicit MailboxAlarms(caf::actor_system& system) : system_(system) {}
  void ring_after(Duration time, Sleeper& sleeper, std::uint32_t lane) override;

 private:
  caf::actor_system& system_;
};

}  // namespace troupe
