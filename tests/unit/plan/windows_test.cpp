#include "core/plan/windows.hpp"

#include "tests/support/expect_error.hpp"
#include "tests/support/small_graph.hpp"

#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(windows)
namespace {

using testing::expect_error;
using testing::SmallGraph;
using Ops = OpRanges;

// a    b    c
BOOST_AUTO_TEST_CASE(waits_part_a_scenario_into_windows) {
  SmallGraph g;
  const OpId a = g.work("a", 1);
  const OpId b = g.work("b", 1);
  const OpId c = g.work("c", 1);
  const auto windows = scenario_windows(g.graph, g.scenario({"b", "a", "wait", "c", "wait"}));
  BOOST_REQUIRE(windows.size() == 2U);
  BOOST_TEST((windows[0].ops == Ops{a, b}));
  BOOST_TEST((windows[1].ops == Ops{c}));
  BOOST_TEST(windows[0].timed);
  BOOST_TEST(windows[1].timed);
}

BOOST_AUTO_TEST_CASE(waits_with_nothing_between_make_no_window) {
  SmallGraph g;
  g.work("a", 1);
  BOOST_TEST(scenario_windows(g.graph, g.scenario({"wait", "wait", "a", "wait", "wait"})).size() ==
             1U);
  BOOST_TEST(scenario_windows(g.graph, g.scenario({"wait"})).empty());
  BOOST_TEST(scenario_windows(g.graph, g.scenario({})).empty());
}

BOOST_AUTO_TEST_CASE(a_group_that_the_graph_does_not_have_is_refused) {
  SmallGraph g;
  g.work("a", 1);
  Scenario scenario = g.everything();
  scenario.name = "all";
  scenario.steps.push_back({.group = GroupId::at(g.graph.group_count())});
  expect_error(ErrorKind::usage, "scenario 'all' lists a group that the graph doesn't have",
               [&] { scenario_windows(g.graph, scenario); });
}

BOOST_AUTO_TEST_CASE(a_group_without_ops_may_be_listed) {
  SmallGraph g;
  const OpId a = g.work("a", 1);
  g.graph.begin_group("empty", true);
  const auto windows = scenario_windows(g.graph, g.scenario({"empty", "wait", "a"}));
  BOOST_REQUIRE(windows.size() == 1U);
  BOOST_TEST((windows[0].ops == Ops{a}));
}

// x ── y ── run      other
BOOST_AUTO_TEST_CASE(ops_that_listed_ops_need_are_prepared_before_the_clock_starts) {
  SmallGraph g;
  const OpId x = g.work("x", 1);
  g.work("other", 1);
  const OpId y = g.work("y", 1, {x});
  const OpId run = g.work("run", 1, {y, y});
  const auto windows = scenario_windows(g.graph, g.scenario({"run"}));
  BOOST_REQUIRE(windows.size() == 2U);
  BOOST_TEST(!windows[0].timed);
  BOOST_TEST((windows[0].ops == Ops{x, y}));
  BOOST_TEST(windows[1].timed);
  BOOST_TEST((windows[1].ops == Ops{run}));
}

// x ── first
//  └── second
BOOST_AUTO_TEST_CASE(ops_that_a_later_window_needs_are_prepared_before_the_first) {
  SmallGraph g;
  const OpId x = g.work("x", 1);
  const OpId first = g.work("first", 1);
  const OpId second = g.work("second", 1, {x});
  const auto windows = scenario_windows(g.graph, g.scenario({"first", "wait", "second"}));
  BOOST_REQUIRE(windows.size() == 3U);
  BOOST_TEST((windows[0].ops == Ops{x}));
  BOOST_TEST((windows[1].ops == Ops{first}));
  BOOST_TEST((windows[2].ops == Ops{second}));
}

// a ── b
BOOST_AUTO_TEST_CASE(within_a_window_the_order_of_steps_does_not_matter) {
  SmallGraph g;
  const OpId a = g.work("a", 1);
  const OpId b = g.work("b", 1, {a});
  const auto windows = scenario_windows(g.graph, g.scenario({"b", "a"}));
  BOOST_REQUIRE(windows.size() == 1U);
  BOOST_TEST((windows[0].ops == Ops{a, b}));
}

// a ── b
BOOST_AUTO_TEST_CASE(a_step_before_the_wait_after_which_its_input_comes_is_refused) {
  SmallGraph g;
  const OpId a = g.work("a", 1);
  g.work("b", 1, {a});
  Scenario scenario = g.scenario({"b", "wait", "a"});
  scenario.place = {"run.yaml", 9, 3};
  expect_error(ErrorKind::usage, "run.yaml:9:3: scenario 'test' starts 'b' before what it needs",
               [&] { scenario_windows(g.graph, scenario); });
}

BOOST_AUTO_TEST_CASE(a_group_listed_twice_is_refused_at_the_second_place) {
  SmallGraph g;
  g.work("a", 1);
  Scenario scenario = g.scenario({"a", "wait", "a"});
  scenario.steps[2].place = {"run.yaml", 5, 8};
  expect_error(ErrorKind::usage, "run.yaml:5:8: scenario 'test' lists 'a' twice",
               [&] { scenario_windows(g.graph, scenario); });
}

// a ── between ── c
BOOST_AUTO_TEST_CASE(an_unlisted_op_that_needs_a_listed_one_can_not_be_prepared) {
  SmallGraph g;
  const OpId a = g.work("a", 1);
  const OpId between = g.work("between", 1, {a});
  g.work("c", 1, {between});
  expect_error(ErrorKind::usage, "list 'between' too", [&] {
    scenario_windows(g.graph, g.scenario({"a", "wait", "c"}));
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
