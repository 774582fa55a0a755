// The coordinator with several windows in flight, and with windows added during the run.
#include "tests/unit/run/coordinator_fixture.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(coordinator_windows)
namespace {

using testing::Coordinator;
using testing::Names;
using testing::r0;
using testing::r1;
using testing::Sizes;
using testing::status;

BOOST_AUTO_TEST_CASE(windows_that_need_not_wait_are_sent_at_once) {
  Coordinator c(Sizes{{.shares = 1, .items = 1},
                      {.shares = 1, .items = 1, .waits = false},
                      {.shares = 1, .items = 1},
                      {.shares = 1, .items = 1, .waits = false}});
  BOOST_TEST(c.begin() == (Names{"send 0", "send 1"}));
  // The third window waits for all before it. The fourth need not wait, but is sent after the
  // third.
  BOOST_TEST(c.complete(0) == Names{"done 0"});
  BOOST_TEST(c.complete(1) == (Names{"done 1", "send 2", "send 3"}));
  BOOST_TEST(c.complete(2) == Names{"done 2"});
  BOOST_TEST(c.complete(3) == (Names{"done 3", "collect"}));
}

BOOST_AUTO_TEST_CASE(windows_are_done_in_their_order_though_a_later_one_is_complete_first) {
  Coordinator c(Sizes{{.shares = 2, .items = 2},
                      {.shares = 1, .items = 1, .waits = false},
                      {.shares = 2, .items = 2, .waits = false},
                      {.shares = 1, .items = 1, .waits = false}});
  c.begin();
  BOOST_TEST(c.complete(2) == Names{});
  BOOST_TEST(c.complete(1) == Names{});
  BOOST_TEST(c.complete(0) == Names{});
  BOOST_TEST(c.complete(3) == Names{});
  BOOST_TEST(c.complete(0) == (Names{"done 0", "done 1"}));
  BOOST_TEST(c.logic().is_running());
  BOOST_TEST(c.complete(2) == (Names{"done 2", "done 3", "collect"}));
}

// The second window has no share, but isn't done before the first.
BOOST_AUTO_TEST_CASE(a_window_without_shares_is_done_after_those_before_it) {
  Coordinator c(Sizes{{.shares = 1, .items = 1}, {.waits = false}, {.waits = true}});
  BOOST_TEST(c.begin() == (Names{"send 0", "send 1"}));
  BOOST_TEST(c.complete(0) == (Names{"done 0", "done 1", "send 2", "done 2", "collect"}));
}

BOOST_AUTO_TEST_CASE(windows_may_be_added_during_the_run) {
  Coordinator c;
  BOOST_TEST(c.window({.shares = 1, .items = 1}) == Names{});
  BOOST_TEST(c.begin() == Names{"send 0"});
  BOOST_TEST(c.window({.shares = 1, .items = 1}) == Names{});
  BOOST_TEST(c.window({.shares = 1, .items = 1, .waits = false}) == Names{});
  BOOST_TEST(c.complete(0) == (Names{"done 0", "send 1", "send 2"}));
  BOOST_TEST(c.window({.shares = 1, .items = 1, .waits = false}) == Names{"send 3"});
  for (std::uint32_t window = 1; window <= 3; ++window) {
    BOOST_TEST(c.complete(window) == Names{"done " + std::to_string(window)});
  }
  // All windows are done, and more may be added.
  BOOST_TEST(c.logic().is_running());
  BOOST_TEST(c.window({.shares = 1, .items = 1}) == Names{"send 4"});
  BOOST_TEST(c.last_window() == Names{});
  BOOST_TEST(c.complete(4) == (Names{"done 4", "collect"}));
}

BOOST_AUTO_TEST_CASE(the_last_window_ends_a_run_in_which_all_is_done) {
  Coordinator c;
  BOOST_TEST(c.begin() == Names{});
  BOOST_TEST(c.window({.shares = 1, .items = 1}, 3) == Names{"send 0"});
  BOOST_TEST(c.complete(0, 5) == Names{"done 0"});
  BOOST_TEST(c.logic().is_running());
  BOOST_TEST(c.last_window(9) == Names{"collect"});
  BOOST_TEST(!c.logic().is_running());
  BOOST_TEST((c.logic().origin() == Instant{Duration{3}}));
  BOOST_TEST((c.logic().outcome() == Ending::done));
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_for_windows_is_not_stuck) {
  Coordinator c;
  c.begin();
  c.window({.shares = 1, .items = 1});
  c.progress(r0, 1);
  c.complete(0);
  for (int round = 0; round < 3; ++round) {
    BOOST_TEST(c.statuses(status(r0, 0, 1), status(r1, 0, 0)) == Names{});
  }
  BOOST_TEST(c.logic().is_running());
}

BOOST_AUTO_TEST_CASE(windows_that_come_after_the_end_are_not_sent) {
  Coordinator c;
  c.begin();
  c.window({.shares = 1, .items = 1});
  BOOST_TEST(c.fail("it broke") == (Names{"stop", "collect"}));
  BOOST_TEST(c.window({.shares = 1, .items = 1, .waits = false}) == Names{});
  BOOST_TEST(c.last_window() == Names{});
  BOOST_TEST(c.complete(0) == Names{});
  c.hand_in(r0);
  BOOST_TEST(c.hand_in(r1) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::failed));
}

// Two windows have been sent and are stuck; a third one waits for them.
BOOST_AUTO_TEST_CASE(a_stuck_run_counts_the_pending_items_of_all_windows_sent) {
  Coordinator c(Sizes{{.shares = 1, .items = 4},
                      {.shares = 2, .items = 5, .waits = false},
                      {.shares = 1, .items = 100}});
  c.begin();
  CoordinatorLogic::Status first = status(r0, 0, 3);
  first.pending = UnitId{3};
  first.missing = 1;
  CoordinatorLogic::Status second = status(r1, 0, 2);
  second.pending = UnitId{8};
  second.missing = 2;
  BOOST_TEST(c.statuses(first, second) == Names{});
  BOOST_TEST(c.statuses(first, second) == (Names{"stop", "collect"}));
  const CoordinatorLogic::Failure& failure = c.logic().failure();
  BOOST_TEST(failure.cause == "nothing is in flight and 4 ops and transfers are pending");
  BOOST_TEST_REQUIRE(failure.stuck.size() == 2U);
  BOOST_TEST((failure.stuck[0].pending == UnitId{3}));
  BOOST_TEST((failure.stuck[1].pending == UnitId{8}));
}

BOOST_AUTO_TEST_CASE(a_window_that_is_sent_resets_the_check_for_a_stuck_run) {
  Coordinator c;
  c.begin();
  c.window({.shares = 1, .items = 2});
  const auto quiet = [&] { return c.statuses(status(r0, 0, 1), status(r1, 0, 0)); };
  BOOST_TEST(quiet() == Names{});
  BOOST_TEST(c.window({.shares = 1, .items = 2, .waits = false}) == Names{"send 1"});
  BOOST_TEST(quiet() == Names{});
  // A window that isn't sent doesn't reset the check.
  BOOST_TEST(c.window({.shares = 1, .items = 2}) == Names{});
  BOOST_TEST(quiet() == (Names{"stop", "collect"}));
}

// A run whose first window is not timed: the clock starts after that window.
BOOST_AUTO_TEST_CASE(the_clock_starts_when_a_timed_window_is_sent_not_when_it_is_added) {
  Coordinator c;
  c.begin();
  c.window({.shares = 1, .items = 1, .timed = false}, 1);
  c.window({.shares = 1, .items = 1}, 2);
  BOOST_TEST(!c.logic().origin());
  BOOST_TEST(c.complete(0, 7) == (Names{"done 0", "send 1"}));
  BOOST_TEST((c.logic().origin() == Instant{Duration{7}}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
