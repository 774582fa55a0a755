// Runs that can't complete, from shares written by hand: they end with an error and never hang.
#include "tests/unit/actors/small_run.hpp"

#include <new>
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(broken_runs)
namespace {

using testing::Item;
using testing::make_share;
using testing::SmallRun;
using testing::window;
using namespace std::chrono_literals;

constexpr ResourceId dev0{0};
constexpr ResourceId dev1{1};

// Expects that the run fails for this cause. Returns the failure.
CoordinatorLogic::Failure expect_failure(SmallRun& run, const std::string& cause) {
  const std::optional<RunResult> result = run.end();
  BOOST_REQUIRE(result.has_value());
  BOOST_TEST((result->ending == Ending::failed));
  BOOST_TEST(result->failure.cause.find(cause) != std::string::npos, result->failure.cause);
  return result->failure;
}
// Expects that the run fails because only `unit` is pending, which waits for one other unit.
void expect_stuck(SmallRun& run, UnitId unit) {
  const CoordinatorLogic::Failure failure =
      expect_failure(run, "nothing is in flight and 1 ops and transfers are pending");
  BOOST_TEST_REQUIRE(failure.stuck.size() == 1U);
  BOOST_TEST((failure.stuck[0].pending == unit));
  BOOST_TEST(failure.stuck[0].missing == 1U);
}

// 0 (waits for a notice that no item sends)    1
std::vector<Window> unsatisfiable() {
  return {window({{dev0, make_share(dev0, {{.waits_for = 1}, {.expected = 1us}})}})};
}

// An op on dev0 that takes some time, then an op on dev1.
std::vector<Window> long_work(Duration time = 200ms) {
  return {window({{dev0, make_share(dev0, {{.successors = {{dev1, 0}}, .expected = time}, {}})},
                  {dev1, make_share(dev1, {{.waits_for = 1}}, 0, true, 2)}})};
}

BOOST_AUTO_TEST_CASE(a_run_that_can_go_on_does) {
  for (const bool virtual_time : {true, false}) {
    SmallRun run(virtual_time, long_work());
    run.begin();
    const auto result = run.end();
    BOOST_REQUIRE(result.has_value());
    BOOST_TEST((result->ending == Ending::done));
  }
}

BOOST_AUTO_TEST_CASE(an_op_whose_notice_never_comes_fails_the_run) {
  for (const bool virtual_time : {true, false}) {
    SmallRun run(virtual_time, unsatisfiable());
    run.begin();
    expect_stuck(run, UnitId{0});
  }
}

// dev0 works in the first window only; dev1 waits for ever in the second.
BOOST_AUTO_TEST_CASE(a_run_that_is_stuck_in_a_later_window_fails) {
  for (const bool virtual_time : {true, false}) {
    SmallRun run(virtual_time,
                 {window({{dev0, make_share(dev0, std::vector<Item>(9))}}),
                  window({{dev1, make_share(dev1, {{.waits_for = 1}, {}}, 1, true, 9)}})});
    run.begin();
    expect_stuck(run, UnitId{9});
  }
}

BOOST_AUTO_TEST_CASE(items_that_finished_before_a_run_was_stuck_are_recorded) {
  SmallRun run(true, unsatisfiable());
  run.begin();
  const auto result = run.end();
  BOOST_REQUIRE(result.has_value());
  std::size_t finished = 0;
  for (const auto& [resource, share] : result->shares) {
    for (const Share::Item& item : share.items) finished += item.finished() ? 1U : 0U;
  }
  BOOST_TEST(finished == 1U);
}

BOOST_AUTO_TEST_CASE(a_device_whose_actor_dies_at_work_fails_the_run) {
  for (const bool virtual_time : {true, false}) {
    SmallRun run(virtual_time, long_work(1h));
    run.begin();
    run.steps(8);
    run.kill(dev0);
    expect_failure(run, "the actor of resource 0 ended unexpectedly");
  }
}

BOOST_AUTO_TEST_CASE(a_device_whose_actor_dies_before_the_run_begins_fails_it) {
  for (const ResourceId resource : {dev0, dev1}) {
    for (const bool virtual_time : {true, false}) {
      SmallRun run(virtual_time, long_work());
      run.kill(resource);
      run.begin();
      expect_failure(run, "ended unexpectedly");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_coordinator_that_finds_no_memory_ends_the_run) {
  for (const bool virtual_time : {true, false}) {
    SmallRun run(virtual_time, [](ResourceShares) { throw std::bad_alloc(); });
    run.take(window({{dev0, make_share(dev0, {{}})}}));
    run.last_window();
    run.begin();
    BOOST_CHECK_THROW(run.end(), std::bad_alloc);
    run.kill(dev0);
    run.steps(100);
  }
}

BOOST_AUTO_TEST_CASE(an_interrupt_at_any_step_ends_the_run) {
  for (std::size_t steps = 0; steps < 40; ++steps) {
    SmallRun run(true, long_work());
    run.begin();
    run.steps(steps);
    run.interrupt();
    const auto result = run.end();
    BOOST_REQUIRE(result.has_value());
    BOOST_TEST((result->ending != Ending::failed));
  }
}

BOOST_AUTO_TEST_CASE(an_actor_that_dies_at_any_step_ends_the_run) {
  for (std::size_t steps = 0; steps < 40; ++steps) {
    SmallRun run(true, long_work());
    run.begin();
    run.steps(steps);
    run.kill(dev0);
    BOOST_TEST(run.end().has_value());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
