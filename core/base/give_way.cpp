#include "core/base/give_way.hpp"

#include <pthread.h>
#include <sched.h>

namespace troupe {

void give_way(std::thread& thread) {
  const sched_param no_priority{};
  pthread_setschedparam(thread.native_handle(), SCHED_IDLE, &no_priority);
}

}  // namespace troupe
