// The priority of a thread that shall keep nobody waiting.
#pragma once

#include <thread>

#include <pthread.h>
#include <sched.h>

namespace troupe {

// From now on the thread runs only where no other thread of this host wants to. Needs no privilege;
// where the host refuses all the same, nothing changes.
inline void give_way(std::thread& thread) {
  const sched_param no_priority{};
  pthread_setschedparam(thread.native_handle(), SCHED_IDLE, &no_priority);
}

}  // namespace troupe
