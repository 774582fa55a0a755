#include "actors/alarm_clock.hpp"

#include "actors/messages.hpp"

namespace troupe {

void MailboxAlarms::ring_after(Duration time, Sleeper& sleeper, std::uint32_t lane) {
  system_.clock().schedule_message(
      system_.clock().now() + time, sleeper.handle(),
      caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, LaneDone{lane}));
}

}  // namespace troupe
