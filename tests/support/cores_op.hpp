// An op that tells which cores its threads may use, as its kernel sees it.
#pragma once

#include "core/ops/registry.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sched.h>

namespace troupe::testing {

// The cores that the calling thread may use (OS numbers).
inline std::vector<int> cores_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

// What ops of this kind have seen since it was last asked: for each op the cores of each thread of
// its team, the kernel's own thread first.
using ThreadCores = std::vector<std::vector<int>>;
class SeenCores {
 public:
  static void add(ThreadCores cores) {
    const std::lock_guard lock(mutex());
    all().push_back(std::move(cores));
  }
  static std::vector<ThreadCores> take() {
    const std::lock_guard lock(mutex());
    return std::exchange(all(), {});
  }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static std::vector<ThreadCores>& all() {
    static std::vector<ThreadCores> instance;
    return instance;
  }
};

// "cores": reads up to 64 tensors, makes one of the declared type.
inline OpKind cores_op() {
  return {.name = "cores",
          .summary = "notes the cores of its threads",
          .inputs = {0, 64},
          .declares_type = true,
          .type = [](const OpSignature& op) { return op.declared; },
          .work = [](const OpSignature&, const TensorType&) { return Work{.flops = 1}; },
          .cpu =
              [](const CpuCall& call) {
                const std::thread::id own = std::this_thread::get_id();
                ThreadCores cores;
                std::mutex mutex;
                // Nobody leaves before all are there, so that each thread comes once.
                std::atomic<std::size_t> arrived = 0;
                call.team.run(call.team.size(), [&](std::size_t) {
                  {
                    const std::lock_guard lock(mutex);
                    const bool first = std::this_thread::get_id() == own;
                    cores.insert(first ? cores.begin() : cores.end(), cores_of_this_thread());
                  }
                  ++arrived;
                  arrived.notify_all();
                  for (std::size_t n = arrived; n < call.team.size(); n = arrived) arrived.wait(n);
                });
                SeenCores::add(std::move(cores));
              }};
}

// For boost::unit_test::precondition.
inline boost::test_tools::assertion_result has_two_cores(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(cores_of_this_thread().size() > 1);
  result.message() << "this process may use one core only";
  return result;
}

}  // namespace troupe::testing
