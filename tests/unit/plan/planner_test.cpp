#include "core/plan/planner.hpp"

#include "core/cost/roofline.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/plan_view.hpp"
#include "tests/support/share_view.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(planner)
namespace {

using testing::expect_error;
using testing::expected;
using testing::on;
using testing::plan_by_rates;
using testing::PlanView;
using testing::SmallGraph;
using testing::successors;
using testing::successors_of;
using testing::units;
using testing::waits_for;
using Names = std::vector<std::string>;

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};

// dev0 and dev1 with a memory each, 1 ns a byte and 1 µs of latency between them.
Machine pair() {
  return testing::two_devices({.latency = std::chrono::microseconds(1)});
}

// x ── y    on one device
BOOST_AUTO_TEST_CASE(ops_of_one_device_make_one_share_with_their_dependencies) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  g.work("y", 50, {x}, on(dev0));
  const Plan plan = plan_by_rates(g.graph, pair(), g.everything(), {});
  BOOST_REQUIRE(plan.windows.size() == 1U);
  BOOST_TEST(plan.windows[0].items == 2U);
  BOOST_REQUIRE(plan.windows[0].shares.size() == 1U);
  const auto& [resource, share] = plan.windows[0].shares[0];
  BOOST_TEST((resource == ResourceId{0}));
  BOOST_TEST((waits_for(share) == std::vector<std::uint32_t>{0, 1}));
  BOOST_TEST((expected(share) == std::vector{Duration{100}, Duration{50}}));
  BOOST_TEST((successors_of(resource, share, 0) == std::vector{ItemRef{resource, 1}}));
  BOOST_TEST(share.successors_of(1).empty());
  BOOST_TEST(share.elsewhere.empty());
  BOOST_TEST((share.inputs_of(1)[0] == share.output(0)));
  BOOST_TEST(plan.timed_ops == 2U);
}

// x ══ y (x twice)
BOOST_AUTO_TEST_CASE(an_input_read_twice_is_two_dependencies_and_two_readers) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  g.work("y", 100, {x, x}, on(dev0));
  const Plan plan = plan_by_rates(g.graph, pair(), g.everything(), {});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_TEST(share.items[1].waits_for == 2U);
  BOOST_TEST(share.successors_of(0).size() == 2U);
  BOOST_TEST(share.inputs_of(1).size() == 2U);
  BOOST_TEST(plan.replicas[share.output(0).index()].readers == 2U);
}

// Longest paths to the end, transfers without latency:
//   a 100 ─┬─ b 30 ───────────── d 5
//          └─ (link 80) ─ c 20 ─ (link 8) ─┘
BOOST_AUTO_TEST_CASE(ranks_are_the_longest_paths_to_the_end) {
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, on(dev0), 80);
  const OpId b = g.work("b", 30, {a}, on(dev0));
  const OpId c = g.work("c", 20, {a}, on(dev1), 8);
  g.work("d", 5, {b, c}, on(dev0));
  const Machine machine = pair();
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST((view.rank("d on dev0") == Duration{5}));
  BOOST_TEST((view.rank("b on dev0") == Duration{35}));
  BOOST_TEST((view.rank("c over link") == Duration{8 + 5}));
  BOOST_TEST((view.rank("c on dev1") == Duration{20 + 8 + 5}));
  BOOST_TEST((view.rank("a over link") == Duration{80 + 20 + 8 + 5}));
  BOOST_TEST((view.rank("a on dev0") == Duration{100 + 80 + 20 + 8 + 5}));
}

// make 0 ── use 0    make 1 ── use 1    …: all tensors would be there at once if all were made
// first.
BOOST_AUTO_TEST_CASE(a_device_stays_in_program_order_where_the_ways_to_the_end_differ_little) {
  SmallGraph g;
  for (int i = 0; i < 50; ++i) {
    const OpId made = g.work("make" + std::to_string(i), 100, {}, on(dev0));
    g.work("use" + std::to_string(i), 100, {made}, on(dev0));
  }
  const Machine machine = pair();
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
  const std::vector<UnitId> order = units(plan.windows[0].shares[0].second);
  BOOST_TEST(std::ranges::is_sorted(order));
}

// s 1    a 100 ── b 10    t 1
BOOST_AUTO_TEST_CASE(a_device_has_a_much_longer_path_to_the_end_first_then_program_order) {
  SmallGraph g;
  g.work("s", 1, {}, on(dev0));
  const OpId a = g.work("a", 100, {}, on(dev0));
  g.work("b", 10, {a}, on(dev0));
  g.work("t", 1, {}, on(dev0));
  const Machine machine = pair();
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_TEST((units(share) == std::vector{UnitId{1}, UnitId{2}, UnitId{0}, UnitId{3}}));
  BOOST_TEST(
      (expected(share) == std::vector{Duration{100}, Duration{10}, Duration{1}, Duration{1}}));
  BOOST_TEST((waits_for(share) == std::vector<std::uint32_t>{0, 1, 0, 0}));
  BOOST_TEST((successors(ResourceId{0}, share) == std::vector{ItemRef{ResourceId{0}, 1}}));
  BOOST_TEST((share.inputs_of(1)[0] == share.output(0)));
  for (std::uint32_t item = 0; item < 4; ++item) {
    BOOST_TEST((plan.units[share.items[item].unit.index()].ref == ItemRef{ResourceId{0}, item}));
  }
}

// x ── y | z:   a wait after y
BOOST_AUTO_TEST_CASE(an_item_does_not_wait_for_earlier_windows_but_keeps_their_tensors_as_inputs) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId y = g.work("y", 10, {x}, on(dev0));
  g.work("z", 1, {y, x}, on(dev0));
  const Machine machine = pair();
  const Plan plan = plan_by_rates(g.graph, machine, g.scenario({"x", "y", "wait", "z"}), {});
  BOOST_REQUIRE(plan.windows.size() == 2U);
  const Share& first = plan.windows[0].shares[0].second;
  const Share& second = plan.windows[1].shares[0].second;
  BOOST_TEST(first.window == 0U);
  BOOST_TEST(second.window == 1U);
  BOOST_TEST(second.items[0].waits_for == 0U);
  BOOST_TEST(first.successors_of(1).empty());
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST(view.predecessors("z on dev0") == (Names{"y on dev0", "x on dev0"}),
             boost::test_tools::per_element());
  BOOST_TEST((view.rank("x on dev0") == Duration{111}));
}

// x ── run:   x is prepared
BOOST_AUTO_TEST_CASE(prepared_ops_come_first_and_are_not_timed) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev1));
  g.work("run", 10, {x}, on(dev0));
  const Machine machine = pair();
  const Plan plan = plan_by_rates(g.graph, machine, g.scenario({"run"}), {.needs_costs = true});
  BOOST_REQUIRE(plan.windows.size() == 2U);
  BOOST_TEST(!plan.windows[0].timed);
  BOOST_TEST(plan.windows[1].timed);
  BOOST_TEST((plan.first_timed == UnitId{1}));
  BOOST_TEST(plan.ops.size() == 2U);
  BOOST_TEST(plan.timed_ops == 1U);
  const Share& prepared = plan.windows[0].shares[0].second;
  BOOST_TEST(!prepared.timed);
  BOOST_TEST((prepared.expected(0) == Duration{0}));
}

BOOST_AUTO_TEST_CASE(an_empty_scenario_has_an_empty_plan) {
  SmallGraph g;
  const Plan plan = plan_by_rates(g.graph, pair(), g.scenario({"wait"}), {});
  BOOST_TEST(plan.windows.empty());
  BOOST_TEST(plan.units.size() == 0U);
  BOOST_TEST(!plan.first_timed);
}

BOOST_AUTO_TEST_CASE(equal_attributes_in_a_row_are_stored_once_in_a_share) {
  SmallGraph g;
  for (int i = 0; i < 6; ++i) g.work("op", i < 3 ? 100 : 200, {}, on(dev0));
  const Plan plan = plan_by_rates(g.graph, pair(), g.everything(), {});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_TEST(share.kernels.size() == 2U);
  for (std::uint32_t i = 0; i < 6; ++i) {
    BOOST_TEST(share.kernels[share.items[i].work].attrs->get<double>("flops") ==
               (share.items[i].unit.value < 3 ? 100 : 200));
  }
}

// relu of two sizes and scale take turns
BOOST_AUTO_TEST_CASE(ops_of_few_classes_have_one_kernel_a_class_with_the_time_that_it_takes) {
  SmallGraph g;
  const OpId small = g.work("small", 100, {}, on(dev0), 8);
  const OpId large = g.work("large", 100, {}, on(dev0), 800);
  for (int i = 0; i < 4; ++i) {
    g.op("relu", "relu", {small}, on(dev0));
    g.op("relu", "relu", {large}, on(dev0));
    g.op("scale", "scale", {large}, on(dev0), {{"alpha", 2.0}});
  }
  const Machine machine = pair();
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {.needs_costs = true});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_TEST(share.kernels.size() == 5U);
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    const OpId op = plan.units[share.items[i].unit.index()].op;
    const Share::Kernel& kernel = share.kernels[share.items[i].work];
    BOOST_TEST((kernel.kind == g.graph.kind_id(op)));
    BOOST_TEST(kernel.attrs == &g.graph.attrs(op));
    BOOST_TEST(
        (kernel.expected == Roofline(machine).op(DeviceId{0}, g.graph, g.graph.op_class(op))));
  }
}

// 20,000 ops that nobody reads, then a chain of four, of which three must start first. Two tensors
// of the chain are held at once, and all tensors that nobody reads.
BOOST_AUTO_TEST_CASE(a_large_plan_is_put_in_order_and_fitted_into_memory_too) {
  constexpr std::uint64_t unread = 20'000;
  SmallGraph g;
  g.graph.begin_group("unread", true);
  const OpTemplate op_template{.kind = g.graph.kinds().find("work"),
                               .placement = on(dev0),
                               .attrs = {{"flops", 1.0}},
                               .declared = testing::of_bytes(8)};
  for (std::uint64_t i = 0; i < unread; ++i) g.graph.append(g.graph.add_template(op_template), {});
  OpId last = g.work("a", 2000, {}, on(dev0));
  for (const char* name : {"b", "c"}) last = g.work(name, 2000, {last}, on(dev0));
  g.work("d", 1, {last}, on(dev0));
  Machine machine = pair();
  machine.memories[0].size_bytes = (unread + 2) * 8;
  const PlanOptions options{.ram_bytes = 1 << 30};
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), options);
  BOOST_TEST(plan.buffers == std::vector<std::uint64_t>{unread + 2});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_REQUIRE(share.size() == unread + 4);
  BOOST_TEST((share.items[0].unit == UnitId::at(unread)));
  BOOST_TEST((share.items[1].unit == UnitId::at(unread + 1)));
  BOOST_TEST((share.items[2].unit == UnitId::at(unread + 2)));
  BOOST_TEST((share.items[3].unit == UnitId::at(0)));
  machine.memories[0].size_bytes -= 8;
  expect_error(ErrorKind::usage, "'b' on dev0 needs 8 B",
               [&] { plan_by_rates(g.graph, machine, g.everything(), options); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
