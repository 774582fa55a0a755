#include "core/backend/openblas/thread_team.hpp"

#include "tests/support/address_space.hpp"

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(thread_team)
namespace {

std::vector<int> helpers(std::size_t n) {
  return std::vector<int>(n, ThreadTeam::any_core);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_team_is_its_helpers_and_the_caller) {
  BOOST_TEST(ThreadTeam(helpers(0)).size() == 1U);
  BOOST_TEST(ThreadTeam(helpers(3)).size() == 4U);
  BOOST_TEST(ThreadTeam(helpers(3), 16).widest_team() == 16);
}

BOOST_AUTO_TEST_CASE(every_index_is_run_once_in_every_one_of_many_jobs) {
  for (const std::size_t n_helpers : {0, 1, 2, 4}) {
    ThreadTeam team(helpers(n_helpers));
    for (std::size_t n = 0; n < 2000; ++n) {
      std::vector<int> runs(n % 67);  // not atomic: no two threads may have the same index
      team.run(runs.size(), [&](std::size_t i) { ++runs[i]; });
      BOOST_REQUIRE(runs == std::vector<int>(n % 67, 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(helpers_that_fell_asleep_wake_for_the_next_job) {
  ThreadTeam team(helpers(1));
  // Each of the two indices waits for the other, so they need two threads.
  for (int job = 0; job < 20; ++job) {
    std::atomic<int> arrived = 0;
    team.run(2, [&](std::size_t) {
      ++arrived;
      arrived.notify_all();
      for (int n = arrived; n < 2; n = arrived) arrived.wait(n);
    });
    BOOST_TEST(arrived == 2);
    // Longer than helpers spin.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

BOOST_AUTO_TEST_CASE(an_exception_reaches_the_caller_and_the_team_goes_on) {
  ThreadTeam team(helpers(2));
  for (int job = 0; job < 200; ++job) {
    BOOST_CHECK_THROW(team.run(50,
                               [](std::size_t i) {
                                 if (i % 7 == 3) throw std::runtime_error("a kernel failed");
                               }),
                      std::runtime_error);
    std::atomic<std::size_t> sum = 0;
    team.run(50, [&](std::size_t i) { sum += i; });
    BOOST_TEST(sum == 49U * 50U / 2U);
  }
}

BOOST_AUTO_TEST_CASE(a_job_within_a_job_is_done_by_the_thread_that_has_it) {
  ThreadTeam team(helpers(3));
  std::vector<std::atomic<int>> runs(40 * 50);
  std::atomic<int> strangers = 0;
  team.run(40, [&](std::size_t i) {
    const std::thread::id self = std::this_thread::get_id();
    team.run(50, [&](std::size_t j) {
      ++runs[i * 50 + j];
      if (std::this_thread::get_id() != self) ++strangers;
    });
  });
  for (const std::atomic<int>& count : runs) BOOST_TEST(count == 1);
  BOOST_TEST(strangers == 0);
}

BOOST_AUTO_TEST_CASE(what_a_job_wrote_is_seen_by_the_caller_and_by_the_next_job) {
  ThreadTeam team(helpers(3));
  std::vector<std::size_t> values(1000);
  for (std::size_t job = 1; job <= 200; ++job) {
    // Threads get different indices in each job, so values pass between threads.
    team.run(values.size(), [&](std::size_t i) { values[i] += i; });
    BOOST_REQUIRE(std::accumulate(values.begin(), values.end(), std::size_t{0}) ==
                  job * 999U * 1000U / 2U);
  }
}

// The address space has room for the stacks of some of 300 helpers. A helper that isn't joined
// would terminate the process.
BOOST_AUTO_TEST_CASE(a_team_that_can_not_have_all_its_helpers_ends_those_it_has,
                     *boost::unit_test::precondition(testing::can_limit_addresses)) {
  {
    const testing::AddressSpaceLimit limit(64 << 20);
    BOOST_CHECK_THROW(ThreadTeam{helpers(300)}, std::system_error);
  }
  std::atomic<int> runs = 0;
  ThreadTeam(helpers(3)).run(10, [&](std::size_t) { ++runs; });
  BOOST_TEST(runs == 10);
}

BOOST_AUTO_TEST_CASE(a_core_that_does_not_exist_leaves_the_helper_unpinned) {
  ThreadTeam team(std::vector{1 << 20});
  std::atomic<int> runs = 0;
  team.run(10, [&](std::size_t) { ++runs; });
  BOOST_TEST(runs == 10);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
