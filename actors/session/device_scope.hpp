// The device that `session.on()` chose for the calls of a thread.
#pragma once

#include "actors/session/session_core.hpp"

namespace troupe {

// Where a call of this thread is placed: nowhere without a scope of this session.
Placement scope_of(const SessionCore& session);
// The memory of that device, or the first one of the machine.
MemoryId memory_of_scope(const SessionCore& session);

}  // namespace troupe
