#include "core/plan/placement.hpp"

#include "core/cost/roofline.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(placement)
namespace {

using testing::expect_error;
using testing::on;
using testing::SmallGraph;
using testing::to;

constexpr DeviceId first{0};
constexpr DeviceId second{1};

// Two equal devices with a memory each, and a link.
Machine pair() {
  return testing::two_devices();
}

// The placements of the ops in the scenario's windows.
std::map<OpId, Placement> place(const SmallGraph& g, const Machine& machine,
                                const Scenario& scenario, const PlanOptions& options = {}) {
  const Roofline cost(machine);
  Router router(machine);
  const std::vector<WindowOps> windows = scenario_windows(g.graph, scenario);
  Placements placements(g.graph, machine, cost, router, options);
  placements.place(windows);
  std::map<OpId, Placement> placed;
  for (const WindowOps& window : windows) {
    for (const OpId op : window.ops) placed[op] = placements.of(op);
  }
  return placed;
}

// x on dev1 ── y on dev0 ── copy to b
BOOST_AUTO_TEST_CASE(explicit_placements_are_kept) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(second));
  const OpId y = g.work("y", 100, {x}, on(first));
  const OpId copy = g.copy("copy", y, to(MemoryId{1}));
  const auto placed = place(g, pair(), g.everything());
  BOOST_TEST((placed.at(x) == on(second)));
  BOOST_TEST((placed.at(y) == on(first)));
  BOOST_TEST((placed.at(copy) == to(MemoryId{1})));
}

// x ─┬─ run on dev0
//    └─ other on dev1, which may lack the kernel, and free: the scenario lists neither
BOOST_AUTO_TEST_CASE(ops_outside_the_scenario_neither_place_others_nor_need_a_kernel) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  g.work("other", 100, {x}, on(second));
  g.work("free", 100, {x});
  const OpId run = g.work("run", 100, {x}, on(first));
  PlanOptions options;
  options.has_kernel = [](DeviceId d, const OpKind&) { return d == first; };
  const auto wanted = std::map<OpId, Placement>{{x, on(first)}, {run, on(first)}};
  BOOST_TEST((place(g, pair(), g.scenario({"run"}), options) == wanted));
  // x is placed on the device of run, though dev1 could make it, too.
  BOOST_TEST((place(g, pair(), g.scenario({"run"})) == wanted));
}

// x, y, z are prepared:    z ── y ── run on dev1
//                          x ────────┘
BOOST_AUTO_TEST_CASE(a_prepared_op_is_placed_with_its_reader) {
  SmallGraph g;
  const OpId z = g.work("z", 100);
  const OpId y = g.work("y", 100, {z});
  const OpId x = g.work("x", 100);
  g.work("run", 100, {y, x}, on(second));
  const auto placed = place(g, pair(), g.scenario({"run"}));
  for (const OpId op : {x, y, z}) BOOST_TEST((placed.at(op) == on(second)));
}

// x ─┬─ early on dev1
//    └─ late on dev0
BOOST_AUTO_TEST_CASE(a_prepared_op_with_several_readers_is_placed_with_the_first) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  g.work("early", 100, {x}, on(second));
  g.work("late", 100, {x}, on(first));
  const auto placed = place(g, pair(), g.scenario({"late", "early"}));
  BOOST_TEST((placed.at(x) == on(second)));
}

// x ── copy to b: no device reads x
BOOST_AUTO_TEST_CASE(
    a_prepared_op_that_only_a_copy_reads_goes_to_the_first_device_with_its_kernel) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  g.copy("copy", x, to(MemoryId{1}));
  PlanOptions options;
  BOOST_TEST((place(g, pair(), g.scenario({"copy"}), options).at(x) == on(first)));
  options.has_kernel = [](DeviceId d, const OpKind& kind) {
    return kind.name != "work" || d == second;
  };
  BOOST_TEST((place(g, pair(), g.scenario({"copy"}), options).at(x) == on(second)));
}

BOOST_AUTO_TEST_CASE(a_prepared_op_goes_elsewhere_if_its_readers_device_lacks_the_kernel) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, {}, {}, testing::of_bytes(8));
  g.work("run", 100, {x}, on(second));
  PlanOptions options;
  options.has_kernel = [](DeviceId d, const OpKind& kind) {
    return kind.name != "uniform" || d == first;
  };
  BOOST_TEST((place(g, pair(), g.scenario({"run"}), options).at(x) == on(first)));
}

BOOST_AUTO_TEST_CASE(an_op_without_a_place_goes_to_a_device_with_its_kernel) {
  SmallGraph g;
  const OpId a = g.work("a", 100);
  PlanOptions options;
  options.has_kernel = [](DeviceId d, const OpKind&) { return d == second; };
  BOOST_TEST((place(g, pair(), g.everything(), options).at(a) == on(second)));
}

// a 100 on dev0   wait   four of 10 each
BOOST_AUTO_TEST_CASE(ops_behind_a_wait_are_placed_as_if_what_is_before_were_done) {
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, on(first));
  std::vector<OpId> late;
  for (const char* name : {"b", "c", "d", "e"}) late.push_back(g.work(name, 10));
  const auto on_first = [&](const Scenario& scenario) {
    const auto placed = place(g, pair(), scenario);
    BOOST_TEST((placed.at(a) == on(first)));
    return std::count_if(late.begin(), late.end(),
                         [&](OpId op) { return placed.at(op) == on(first); });
  };
  BOOST_TEST(on_first(g.everything()) == 0);
  BOOST_TEST(on_first(g.scenario({"a", "wait", "b", "c", "d", "e"})) == 2);
}

BOOST_AUTO_TEST_CASE(a_device_without_the_kernel_is_refused_by_name_and_place) {
  SmallGraph g;
  g.graph.begin_group("run", true, {"run.yaml", 3, 5});
  const OpSpec spec{.kind = g.graph.kinds().find("work"),
                    .placement = on(second),
                    .attrs = {{"flops", 1.0}},
                    .declared = testing::of_bytes(8)};
  g.graph.append(spec);
  PlanOptions options;
  options.has_kernel = [](DeviceId d, const OpKind&) { return d == first; };
  expect_error(ErrorKind::usage,
               "run.yaml:3:5: 'run[0]' is placed on dev1, which has no kernel for 'work'; place "
               "the op on dev0, which has one; devices of another memory get a copy of its result",
               [&] { place(g, pair(), g.everything(), options); });
}

BOOST_AUTO_TEST_CASE(a_device_or_memory_that_the_machine_does_not_have_is_refused) {
  SmallGraph g;
  g.work("run", 100, {}, on(DeviceId{2}));
  expect_error(ErrorKind::usage, "'run' is placed on a device that the machine doesn't have; find",
               [&] { place(g, pair(), g.everything()); });
  SmallGraph copies;
  copies.copy("copied", copies.work("x", 100), testing::to(MemoryId{9}));
  expect_error(ErrorKind::usage, "'copied' is placed on a memory that the machine doesn't have",
               [&] { place(copies, pair(), copies.everything()); });
}

BOOST_AUTO_TEST_CASE(a_kind_that_no_device_has_a_kernel_for_is_refused) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  g.work("run", 100, {x}, on(first));
  PlanOptions nothing;
  nothing.has_kernel = [](DeviceId, const OpKind&) { return false; };
  SmallGraph free;
  free.work("free", 1);
  expect_error(ErrorKind::usage, "no device has a kernel for 'work', the kind of 'free'",
               [&] { place(free, pair(), free.everything(), nothing); });
}

// x ── run, and the machine gives no rates for either device
BOOST_AUTO_TEST_CASE(a_simulation_needs_costs_for_timed_ops_only) {
  Machine machine = pair();
  for (Device& d : machine.devices) d.flops.reset();
  SmallGraph g;
  const OpId x = g.work("x", 100);
  g.work("run", 100, {x}, on(second));
  const PlanOptions options{.needs_costs = true};
  expect_error(ErrorKind::usage,
               "'run' is placed on dev1, which has no rate for 'work'; give dev1 a rate for it in "
               "the machine file ('work: ",
               [&] { place(g, machine, g.scenario({"run"}), options); });
  SmallGraph free;
  free.work("free", 1);
  expect_error(ErrorKind::usage,
               "no device has a rate for 'work', the kind of 'free'; give one a rate for it in the "
               "machine file ('work: ",
               [&] { place(free, machine, free.everything(), options); });
  machine.devices[1].op_flops["work"] = 1e9;
  BOOST_TEST((place(g, machine, g.scenario({"run"}), options).at(x) == on(second)));
}

// A rehearsal computes values by the cost model's times: it needs kernels as well as costs.
BOOST_AUTO_TEST_CASE(costs_do_not_stand_in_for_a_missing_kernel) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  g.work("run", 100, {x}, on(second));
  const PlanOptions options{.has_kernel = [](DeviceId d, const OpKind&) { return d == first; },
                            .needs_costs = true};
  expect_error(ErrorKind::usage, "no kernel for 'work'; place the op on dev0, which has one",
               [&] { place(g, pair(), g.scenario({"run"}), options); });
  SmallGraph free;
  free.work("free", 1);
  const PlanOptions nowhere{.has_kernel = [](DeviceId, const OpKind&) { return false; },
                            .needs_costs = true};
  expect_error(ErrorKind::usage, "no device has a kernel for 'work', the kind of 'free'",
               [&] { place(free, pair(), free.everything(), nowhere); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
