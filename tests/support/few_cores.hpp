// Lets this thread, and the processes that it starts, use a few of the host's cores only.
#pragma once

#include <boost/test/unit_test.hpp>
#include <sched.h>

namespace troupe::testing {

// The first `count` of those that this thread may use, or all if there are fewer, as long as it
// lives: so what a program needs of threads and memory isn't that of the host it is tested on.
class FewCores {
 public:
  explicit FewCores(int count) {
    BOOST_REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t few;
    CPU_ZERO(&few);
    for (int core = 0; core < CPU_SETSIZE && count > 0; ++core) {
      if (!CPU_ISSET(core, &before_)) continue;
      CPU_SET(core, &few);
      --count;
    }
    BOOST_REQUIRE(sched_setaffinity(0, sizeof few, &few) == 0);
  }
  ~FewCores() { sched_setaffinity(0, sizeof before_, &before_); }
  FewCores(const FewCores&) = delete;
  FewCores& operator=(const FewCores&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace troupe::testing
