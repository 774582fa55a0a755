// How a process ends on the stand-in, and what the environment changes.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <boost/test/unit_test.hpp>
#include <sys/wait.h>

namespace troupe::testing {

BOOST_AUTO_TEST_SUITE(stand_in_process)

struct Ended {
  int status = 0;  // 128 + signal if one ended it
  std::string output;
};

// Runs the probe in a shell, with these variables before it.
Ended probe(const std::string& variables, const std::string& what) {
  Ended ended;
  const std::string line = variables + " '" CUDA_STAND_IN_PROBE "' " + what + " 2>&1";
  std::FILE* pipe = popen(line.c_str(), "r");
  BOOST_REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), static_cast<int>(part.size()), pipe) != nullptr) {
    ended.output += part.data();
  }
  const int status = pclose(pipe);
  ended.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ended;
}

void check(const Ended& ended, int status, const std::string& words) {
  BOOST_CHECK_MESSAGE(ended.status == status && ended.output.find(words) != std::string::npos,
                      "expected status " << status << " and \"" << words << "\", got "
                                         << ended.status << " and: " << ended.output);
}

BOOST_AUTO_TEST_CASE(a_process_that_leaves_nothing_behind_succeeds) {
  check(probe("", "clean"), 0, "memory: cudaSuccess");
}

BOOST_AUTO_TEST_CASE(a_leak_is_an_exit_status_of_97) {
  check(probe("", "leak_stream"), 97, "leak: 1 stream not destroyed");
  check(probe("", "leak_memory"), 97, "1000 bytes) not freed");
}

BOOST_AUTO_TEST_CASE(a_failure_names_the_seed_that_repeats_it) {
  check(probe("TROUPE_STAND_IN_SEED=42", "use_freed"), 97,
        "CUDA stand-in (TROUPE_STAND_IN_SEED=42): use of freed memory: cudaMemsetAsync uses "
        "allocation 1");
  check(probe("TROUPE_STAND_IN_ABORT_AT_FAILURE=1", "use_freed"), 128 + SIGABRT, "use of freed");
}

BOOST_AUTO_TEST_CASE(the_host_cannot_touch_device_memory) {
  const Ended ended = probe("", "touch");
  BOOST_CHECK_NE(ended.status, 0);
  BOOST_CHECK_EQUAL(ended.output.find("touched"), std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_environment_injects) {
  check(probe("TROUPE_STAND_IN_DRIVER_VERSION=0", "count"), 0, "cudaErrorInsufficientDriver");
  check(probe("TROUPE_STAND_IN_DRIVER_VERSION=12040", "count"), 0, "cudaErrorInsufficientDriver");
  check(probe("TROUPE_STAND_IN_DEVICES=0", "count"), 0, "cudaErrorNoDevice");
  check(probe("TROUPE_STAND_IN_OUT_OF_MEMORY_AT=1", "clean"), 0, "cudaErrorMemoryAllocation");
  check(probe("TROUPE_STAND_IN_DEVICE_LOST_AT=2", "clean"), 0, "cudaErrorDevicesUnavailable");
  check(probe("TROUPE_STAND_IN_SEED=x", "count"), 97, "TROUPE_STAND_IN_SEED is no number: x");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
