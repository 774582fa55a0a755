#include "core/plan/planner.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/plan_view.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(private_replicas)
namespace {

using testing::on;
using testing::plan_by_rates;
using testing::PlanView;
using testing::SmallGraph;
using testing::two_devices_on_one_memory;

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};

// dev0 and dev1 with a memory each, 1 ns a byte and 1 µs of latency between them.
Machine pair() {
  return testing::two_devices({.latency = std::chrono::microseconds(1)});
}

// x on dev0 ─┬─ y on dev0 ─┬─ z on dev0
//            ├─ v on dev1 ─┤
//            └─────────────┴─ w on dev0     p on dev0, which nothing reads
BOOST_AUTO_TEST_CASE(a_replica_is_private_where_its_maker_and_all_its_readers_are_one_resource) {
  SmallGraph g;
  const Machine machine = two_devices_on_one_memory();
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId y = g.work("y", 100, {x}, on(dev0));
  g.work("z", 100, {y}, on(dev0));
  g.work("p", 100, {}, on(dev0));
  const OpId v = g.work("v", 100, {x}, on(dev1));
  g.work("w", 100, {x, y, v}, on(dev0));
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
  const PlanView view(g.graph, machine, plan);
  const auto is_private = [&](const std::string& unit) {
    return plan.replicas[view.find(unit).index()].is_private;
  };
  BOOST_TEST(!is_private("x on dev0"));  // v reads it, between y and w
  BOOST_TEST(is_private("y on dev0"));
  BOOST_TEST(is_private("p on dev0"));
  BOOST_TEST(!is_private("v on dev1"));  // read by dev0 only, which didn't make it
}

// x on dev0 ── wait ── y on dev0
// v on dev0 ── wait ── w on dev1, with the same memory
//        └──── wait ── wait ── u on dev0
BOOST_AUTO_TEST_CASE(a_replica_that_another_device_reads_in_a_later_window_is_not_private) {
  SmallGraph g;
  const Machine machine = two_devices_on_one_memory();
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId v = g.work("v", 100, {}, on(dev0));
  g.work("y", 100, {x}, on(dev0));
  g.work("w", 100, {v}, on(dev1));
  g.work("u", 100, {v}, on(dev0));
  const Plan plan =
      plan_by_rates(g.graph, machine, g.scenario({"x", "v", "wait", "y", "w", "wait", "u"}), {});
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST(plan.replicas[view.find("x on dev0").index()].is_private);
  BOOST_TEST(!plan.replicas[view.find("v on dev0").index()].is_private);
}

// x on dev0 ── wait ── y on dev1, in another memory: the link reads x
BOOST_AUTO_TEST_CASE(a_replica_that_is_moved_in_a_later_window_is_not_private) {
  SmallGraph g;
  const Machine machine = pair();
  const OpId x = g.work("x", 100, {}, on(dev0));
  g.work("y", 100, {x}, on(dev1));
  const Plan plan = plan_by_rates(g.graph, machine, g.scenario({"x", "wait", "y"}), {});
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST(!plan.replicas[view.find("x on dev0").index()].is_private);
}

// x on dev0 ── link ── y on dev1:  the link reads x, and dev1 the link's replica
BOOST_AUTO_TEST_CASE(a_tensor_that_is_moved_is_not_private) {
  SmallGraph g;
  const Machine machine = pair();
  const OpId x = g.work("x", 100, {}, on(dev0));
  g.work("y", 100, {x}, on(dev1));
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST(!plan.replicas[view.find("x on dev0").index()].is_private);
  BOOST_TEST(!plan.replicas[view.find("x over link").index()].is_private);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
