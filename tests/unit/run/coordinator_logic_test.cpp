#include "core/run/coordinator_logic.hpp"

#include "tests/unit/run/coordinator_fixture.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(coordinator_logic)
namespace {

using testing::Coordinator;
using testing::Names;
using testing::r0;
using testing::r1;
using testing::Sizes;
using testing::status;

BOOST_AUTO_TEST_CASE(windows_are_sent_one_after_the_other_then_the_rest_is_collected) {
  Coordinator c(Sizes{{.shares = 2, .items = 3}, {.shares = 1, .items = 1}});
  BOOST_TEST(c.begin() == Names{"send 0"});
  BOOST_TEST(c.progress(r0, 1) == Names{});
  BOOST_TEST(c.progress(r1, 1) == Names{});
  BOOST_TEST(c.complete(0) == Names{});
  BOOST_TEST(c.logic().items_done() == 2U);
  BOOST_TEST(c.progress(r0, 2) == Names{});
  BOOST_TEST(c.complete(0) == (Names{"done 0", "send 1"}));
  BOOST_TEST(c.progress(r1, 2) == Names{});
  BOOST_TEST(c.logic().is_running());
  BOOST_TEST(c.complete(1) == (Names{"done 1", "collect"}));
  BOOST_TEST(!c.logic().is_running());
  BOOST_TEST(c.hand_in(r1) == Names{});
  BOOST_TEST(c.hand_in(r0) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::done));
  BOOST_TEST(c.logic().items_done() == 4U);
}

BOOST_AUTO_TEST_CASE(the_clock_starts_with_the_first_timed_window) {
  Coordinator c(Sizes{{.shares = 1, .items = 1, .timed = false},
                      {.shares = 1, .items = 1},
                      {.shares = 1, .items = 1}});
  BOOST_TEST(c.begin(5) == Names{"send 0"});
  BOOST_TEST(!c.logic().origin());
  BOOST_TEST(c.complete(0, 7) == (Names{"done 0", "send 1"}));
  BOOST_TEST((c.logic().origin() == Instant{Duration{7}}));
  BOOST_TEST(c.complete(1, 9) == (Names{"done 1", "send 2"}));
  BOOST_TEST((c.logic().origin() == Instant{Duration{7}}));
}

BOOST_AUTO_TEST_CASE(windows_without_shares_are_done_as_soon_as_they_are_sent) {
  Coordinator c(Sizes{{}, {.shares = 1, .items = 1}, {}, {}});
  BOOST_TEST(c.begin() == (Names{"send 0", "done 0", "send 1"}));
  BOOST_TEST(c.complete(1) == (Names{"done 1", "send 2", "done 2", "send 3", "done 3", "collect"}));
}

BOOST_AUTO_TEST_CASE(an_empty_run_ends_at_once) {
  BOOST_TEST(Coordinator(Sizes{}).begin() == Names{"collect"});
  BOOST_TEST(Coordinator(Sizes(1)).begin() == (Names{"send 0", "done 0", "collect"}));
  for (const std::size_t windows : {0U, 1U, 3U}) {
    Coordinator c{Sizes(windows)};
    BOOST_TEST(c.begin(4).back() == "collect");
    BOOST_TEST((c.logic().origin() == Instant{Duration{4}}));
    c.hand_in(r0);
    BOOST_TEST(c.hand_in(r1) == Names{"finish"});
    BOOST_TEST((c.logic().outcome() == Ending::done));
  }
}

BOOST_AUTO_TEST_CASE(progress_counts_the_items_of_all_windows_however_often_it_is_reported) {
  Coordinator c(Sizes{{.shares = 1, .items = 1}, {.shares = 1, .items = 2}});
  c.begin();
  c.progress(r0, 1);
  c.complete(0);
  BOOST_TEST(c.progress(r0, 1) == Names{});
  BOOST_TEST(c.logic().items_done() == 1U);
  BOOST_TEST(c.progress(r0, 2) == Names{});
  BOOST_TEST(c.logic().items_done() == 2U);
}

BOOST_AUTO_TEST_CASE(the_first_failure_ends_the_run) {
  Coordinator c(Sizes{{.shares = 2, .items = 2}});
  c.begin();
  c.progress(r1, 1);
  BOOST_TEST(c.fail("it broke", UnitId{1}) == (Names{"stop", "collect"}));
  BOOST_TEST(c.fail("broke too", UnitId{0}) == Names{});
  BOOST_TEST(c.interrupt() == Names{});
  BOOST_TEST(c.progress(r0, 1) == Names{});
  BOOST_TEST(c.complete(0) == Names{});
  BOOST_TEST(c.complete(0) == Names{});
  c.hand_in(r0);
  BOOST_TEST(c.hand_in(r0) == Names{});
  BOOST_TEST(c.hand_in(r1) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::failed));
  BOOST_TEST(c.logic().failure().cause == "it broke");
  BOOST_TEST((c.logic().failure().unit == UnitId{1}));
  BOOST_TEST(c.logic().failure().stuck.empty());
}

// A resource whose thread can't be set up quits before any window is sent.
BOOST_AUTO_TEST_CASE(a_failure_before_the_beginning_ends_the_run) {
  Coordinator c(Sizes{{.shares = 1, .items = 2}});
  BOOST_TEST(c.fail("no thread for cpu0") == (Names{"stop", "collect"}));
  BOOST_TEST(c.hand_in(r0) == Names{});
  BOOST_TEST(c.begin() == Names{});
  BOOST_TEST(c.hand_in(r1) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::failed));
}

BOOST_AUTO_TEST_CASE(an_interrupt_before_the_beginning_ends_the_run) {
  Coordinator c(Sizes{{.shares = 1, .items = 2}});
  BOOST_TEST(c.interrupt() == (Names{"stop", "collect"}));
  BOOST_TEST(c.begin() == Names{});
  c.hand_in(r0);
  BOOST_TEST(c.hand_in(r1) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::interrupted));
  BOOST_TEST(!c.logic().origin());
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_running_ends_the_run_and_later_ones_do_not) {
  Coordinator c(Sizes{{.shares = 1, .items = 2}});
  c.begin(3);
  BOOST_TEST(c.interrupt() == (Names{"stop", "collect"}));
  BOOST_TEST(c.interrupt() == Names{});
  c.hand_in(r1);
  BOOST_TEST(c.hand_in(r0) == Names{"finish"});
  BOOST_TEST(c.interrupt() == Names{});
  BOOST_TEST((c.logic().outcome() == Ending::interrupted));
  BOOST_TEST((c.logic().origin() == Instant{Duration{3}}));
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_shares_are_collected_changes_nothing) {
  Coordinator c(Sizes{{.shares = 1, .items = 1}});
  c.begin();
  BOOST_TEST(c.complete(0) == (Names{"done 0", "collect"}));
  BOOST_TEST(c.interrupt() == Names{});
  c.hand_in(r0);
  BOOST_TEST(c.hand_in(r1) == Names{"finish"});
  BOOST_TEST((c.logic().outcome() == Ending::done));
}

BOOST_AUTO_TEST_CASE(two_quiet_rounds_that_are_alike_mean_that_the_run_is_stuck) {
  Coordinator c(Sizes{{.shares = 2, .items = 5}});
  c.begin();
  BOOST_TEST(c.statuses(status(r0, 0, 2), status(r1, 0, 1)) == Names{});
  BOOST_TEST(c.statuses(status(r0, 0, 2), status(r1, 0, 1)) == (Names{"stop", "collect"}));
  BOOST_TEST((c.logic().outcome() == Ending::failed));
  BOOST_TEST(c.logic().failure().cause ==
             "nothing is in flight and 2 ops and transfers are pending");
  BOOST_TEST(!c.logic().failure().unit);
  BOOST_TEST(c.logic().failure().stuck.empty());
}

BOOST_AUTO_TEST_CASE(a_stuck_run_names_up_to_three_pending_units_and_their_missing_notices) {
  Coordinator c(Sizes{{.shares = 1, .items = 9}, {.shares = 5, .items = 9}});
  c.begin();
  c.progress(r0, 9);
  c.complete(0);
  std::vector<CoordinatorLogic::Status> all;
  for (std::uint32_t i = 0; i < 5; ++i) {
    // The second resource has done all its items.
    all.push_back({.resource = ResourceId{i},
                   .done = i == 0 ? 10U : 1U,
                   .pending = i == 1 ? UnitId{} : UnitId{10 + i},
                   .missing = i});
  }
  for (int round = 0; round < 2; ++round) c.statuses(all);
  const CoordinatorLogic::Failure& failure = c.logic().failure();
  BOOST_TEST(failure.cause == "nothing is in flight and 4 ops and transfers are pending");
  BOOST_TEST_REQUIRE(failure.stuck.size() == 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint32_t r = i == 0 ? 0 : static_cast<std::uint32_t>(i) + 1;
    BOOST_TEST((failure.stuck[i].resource == ResourceId{r}));
    BOOST_TEST((failure.stuck[i].pending == UnitId{10 + r}));
    BOOST_TEST(failure.stuck[i].missing == r);
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_moves_between_rounds_is_not_stuck) {
  Coordinator c(Sizes{{.shares = 2, .items = 5}});
  c.begin();
  const auto quiet = [&](std::uint64_t done) {
    return c.statuses(status(r0, 0, done), status(r1, 0, 0));
  };
  quiet(1);
  BOOST_TEST(quiet(2) == Names{});
  BOOST_TEST(c.statuses(status(r0, 1, 2), status(r1, 0, 0)) == Names{});
  BOOST_TEST(quiet(2) == Names{});
  BOOST_TEST(quiet(2) == (Names{"stop", "collect"}));
}

// r0 and r1 are on two nodes. The network between them is down for a while.
BOOST_AUTO_TEST_CASE(a_run_whose_chunks_are_on_their_way_between_nodes_is_not_stuck) {
  Coordinator c(Sizes{{.shares = 2, .items = 5}});
  c.begin();
  const auto chunks = [&](std::uint64_t sent, std::uint64_t arrived) {
    CoordinatorLogic::Status sender = status(r0, 0, 2);
    sender.chunks_sent = sent;
    CoordinatorLogic::Status receiver = status(r1, 0, 1);
    receiver.chunks_arrived = arrived;
    return c.statuses(sender, receiver);
  };
  for (int round = 0; round < 10; ++round) BOOST_TEST(chunks(3, 2) == Names{});
  BOOST_TEST(chunks(3, 3) == Names{});
  // A chunk was sent behind the answer of r0, and came ahead of that of r1; another one is missing.
  BOOST_TEST(chunks(4, 4) == Names{});
  BOOST_TEST(chunks(5, 4) == Names{});
  BOOST_TEST(chunks(5, 5) == Names{});
  BOOST_TEST(chunks(5, 5) == (Names{"stop", "collect"}));
}

// r0 has items in window 0 only; its number of items done stays the same in window 1.
BOOST_AUTO_TEST_CASE(items_done_in_earlier_windows_do_not_hide_a_stuck_run) {
  Coordinator c(Sizes{{.shares = 1, .items = 7}, {.shares = 1, .items = 3}});
  c.begin();
  c.progress(r0, 7);
  c.complete(0);
  for (int round = 0; round < 2; ++round) c.statuses(status(r0, 0, 7), status(r1, 0, 1));
  BOOST_TEST((c.logic().outcome() == Ending::failed));
  BOOST_TEST(c.logic().failure().cause ==
             "nothing is in flight and 2 ops and transfers are pending");
}

// The message that completes window 0 arrives between two rounds of statuses.
BOOST_AUTO_TEST_CASE(a_new_window_resets_the_check_for_a_stuck_run) {
  Coordinator c(Sizes{{.shares = 1, .items = 2}, {.shares = 1, .items = 2}});
  c.begin();
  const auto quiet = [&] { return c.statuses(status(r0, 0, 1), status(r1, 0, 0)); };
  BOOST_TEST(quiet() == Names{});
  c.complete(0);
  BOOST_TEST(quiet() == Names{});
  BOOST_TEST(quiet() == (Names{"stop", "collect"}));
}

BOOST_AUTO_TEST_CASE(statuses_after_the_end_are_ignored) {
  Coordinator c(Sizes{{.shares = 1, .items = 1}});
  c.begin();
  c.complete(0);
  for (int round = 0; round < 3; ++round) {
    BOOST_TEST(c.statuses(status(r0, 0, 0), status(r1, 0, 0)) == Names{});
  }
  BOOST_TEST((c.logic().outcome() == Ending::done));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
