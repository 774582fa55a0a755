// Lower bounds by hand: 1 ns a byte and a FLOP, chunks of 4096 bytes.
#include "core/plan/planner.hpp"
#include "core/result/summary.hpp"
#include "tests/support/logic_simulation.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(bounds)
namespace {

using testing::LogicSimulation;
using testing::on;
using testing::plan_by_rates;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::to;

ScenarioReport simulate(const SmallGraph& g, const Machine& machine, const Scenario& scenario) {
  Plan plan = plan_by_rates(g.graph, machine, scenario, {.needs_costs = true});
  const RunResult result = LogicSimulation(machine, plan, {}).run();
  return summarize(g.graph, machine, plan, scenario.name, result);
}
ScenarioReport simulate(const SmallGraph& g, const Machine& machine) {
  return simulate(g, machine, g.everything());
}

// d0 … dn, each with a memory, in a row: link0 joins the first two, link1 the next, and so on.
Machine row(std::size_t devices) {
  SmallMachine m;
  for (std::size_t i = 0; i < devices; ++i) {
    m.device("d" + std::to_string(i), m.memory("m" + std::to_string(i)));
    if (i == 0) continue;
    m.link("link" + std::to_string(i - 1), MemoryId::at(i - 1), MemoryId::at(i), {}, Sharing::fifo,
           4096);
  }
  return m.machine;
}

constexpr DeviceId d0{0};

// a 100 ── b 50 ── c 25
BOOST_AUTO_TEST_CASE(a_chain_is_its_own_critical_path) {
  SmallGraph g;
  const OpId a = g.work("a", 100);
  const OpId b = g.work("b", 50, {a});
  g.work("c", 25, {b});
  const ScenarioReport report = simulate(g, row(1));
  BOOST_TEST((report.serial == Duration{175}));
  BOOST_TEST((report.makespan == Duration{175}));
  BOOST_TEST((report.lower_bound == Duration{175}));
  BOOST_TEST(report.speedup() == 1);
  BOOST_TEST(report.overlap_efficiency() == 1);
}

// a 100    b 50    c 25
BOOST_AUTO_TEST_CASE(independent_ops_are_bound_by_the_busiest_device) {
  SmallGraph g;
  g.work("a", 100, {}, on(d0));
  g.work("b", 50, {}, on(d0));
  g.work("c", 25, {}, on(DeviceId{1}));
  const ScenarioReport report = simulate(g, row(2));
  BOOST_TEST((report.serial == Duration{175}));
  BOOST_TEST((report.lower_bound == Duration{150}));
  BOOST_TEST(report.bound_by == "d0");
  BOOST_TEST((report.makespan == Duration{150}));
}

// Five ops of 100 on three streams: 500 / 3, though it takes two rounds.
BOOST_AUTO_TEST_CASE(streams_divide_the_time_of_a_device) {
  SmallMachine m;
  m.device("d0", m.memory("m0"), 3);
  SmallGraph g;
  for (int i = 0; i < 5; ++i) g.work("op", 100);
  const ScenarioReport report = simulate(g, m.machine);
  BOOST_TEST((report.lower_bound == Duration{166}));
  BOOST_TEST((report.makespan == Duration{200}));
  BOOST_TEST(report.resources[0].streams == 3);
  BOOST_TEST(report.resources[0].utilisation == 500.0 / 600);
}

// a 100 ── copied 1000    b 10 ── copied 1000
BOOST_AUTO_TEST_CASE(copies_are_bound_by_their_link_direction) {
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, on(d0), 1000);
  const OpId b = g.work("b", 10, {}, on(d0), 1000);
  g.copy("a2", a, to(MemoryId{1}));
  g.copy("b2", b, to(MemoryId{1}));
  const ScenarioReport report = simulate(g, row(2));
  BOOST_TEST((report.lower_bound == Duration{2000}));
  BOOST_TEST(report.bound_by == "link0 m0→m1");
  // a has the longer way to the end and starts first.
  BOOST_TEST((report.makespan == Duration{2100}));
}

// x 100 ══ 10 chunks ══ 10 chunks ══ y 7 on d2: the second link follows a chunk behind.
BOOST_AUTO_TEST_CASE(a_route_of_two_equal_links_takes_one_chunk_more_than_one) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(d0), 40'960);
  g.work("y", 7, {x}, on(DeviceId{2}));
  const ScenarioReport report = simulate(g, row(3));
  BOOST_TEST((report.makespan == Duration{100 + 40'960 + 4'096 + 7}));
  BOOST_TEST((report.lower_bound == report.makespan));
  BOOST_TEST(report.bound_by == "critical path");
  BOOST_TEST((report.serial == Duration{100 + 2 * 40'960 + 7}));
}

// As two nodes record it: the second link has each chunk as soon as the first one has.
BOOST_AUTO_TEST_CASE(what_both_ends_of_a_network_move_at_the_same_time_counts_once) {
  for (const std::uint64_t bytes : {4'096, 40'960}) {
    SmallGraph g;
    const OpId x = g.work("x", 100, {}, on(d0), bytes);
    g.work("y", 7, {x}, on(DeviceId{2}));
    const Machine machine = row(3);
    Plan plan = plan_by_rates(g.graph, machine, g.everything(), {.needs_costs = true});
    const RunResult result = LogicSimulation(machine, plan, {}).run();
    for (auto& [resource, share] : plan.windows.front().shares) {
      for (Share::Item& item : share.items) {
        const bool is_later = item.finished() && item.start > Instant{Duration{100}};
        if (!is_later) continue;
        item.start -= Duration{4'096};
        item.end -= Duration{4'096};
      }
    }
    const ScenarioReport report = summarize(g.graph, machine, plan, "test", result);
    BOOST_TEST((report.makespan == Duration{100 + bytes + 7}));
    BOOST_TEST((report.lower_bound == report.makespan));
  }
}

// A node was lost with what it had recorded.
BOOST_AUTO_TEST_CASE(a_transfer_whose_record_never_came_bounds_nothing) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(d0), 40'960);
  g.work("y", 7, {x}, on(DeviceId{2}));
  const Machine machine = row(3);
  const ResourceId first_link{3};
  for (const bool is_share_gone : {false, true}) {
    Plan plan = plan_by_rates(g.graph, machine, g.everything(), {.needs_costs = true});
    const RunResult result = LogicSimulation(machine, plan, {}).run();
    auto& shares = plan.windows.front().shares;
    for (auto& [resource, share] : shares) {
      if (resource == first_link) share.items[0].end = Share::never;
    }
    if (is_share_gone) {
      std::erase_if(shares, [=](const auto& entry) { return entry.first == first_link; });
    }
    const ScenarioReport report = summarize(g.graph, machine, plan, "test", result);
    BOOST_TEST((report.lower_bound == Duration{40'960 + 7}));
  }
}

// The second link takes 409 or 410 ns for each chunk, and waits for the next one.
BOOST_AUTO_TEST_CASE(after_a_slow_link_a_fast_one_adds_its_last_chunk) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(d0), 40'960);
  g.work("y", 7, {x}, on(DeviceId{2}));
  Machine machine = row(3);
  machine.links[1].bandwidth[0] = 1e10;
  const ScenarioReport report = simulate(g, machine);
  BOOST_TEST((report.makespan == Duration{100 + 40'960 + 410 + 7}));
  BOOST_TEST((report.lower_bound == Duration{100 + 40'960 + 409 + 7}));
}

// slow ══ fast ══ slow: the last link begins when one chunk has crossed the first two.
BOOST_AUTO_TEST_CASE(a_fast_link_between_slow_ones_does_not_hold_the_last_one_up) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(d0), 40'960);
  g.work("y", 7, {x}, on(DeviceId{3}));
  Machine machine = row(4);
  machine.links[1].bandwidth[0] = 1e10;
  const ScenarioReport report = simulate(g, machine);
  BOOST_TEST((report.makespan == Duration{100 + 4'096 + 410 + 40'960 + 7}));
  BOOST_TEST((report.lower_bound == Duration{100 + 4'096 + 409 + 40'960 + 7}));
}

// The second link's latency is over before the last chunk arrives.
BOOST_AUTO_TEST_CASE(latency_of_a_later_link_is_not_paid_with_its_last_chunk) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(d0), 40'960);
  g.work("y", 7, {x}, on(DeviceId{2}));
  Machine machine = row(3);
  machine.links[1].bandwidth[0] = 1e10;
  machine.links[1].latency = Duration{10'000};
  const ScenarioReport report = simulate(g, machine);
  BOOST_TEST((report.makespan == Duration{100 + 40'960 + 410 + 7}));
  BOOST_TEST((report.lower_bound == Duration{100 + 40'960 + 409 + 7}));
}

// a 100 | b 50: a wait is part of the scenario, not of the bound
BOOST_AUTO_TEST_CASE(waits_do_not_raise_the_bound) {
  SmallGraph g;
  g.work("a", 100, {}, on(d0));
  g.work("b", 50, {}, on(DeviceId{1}));
  const ScenarioReport report = simulate(g, row(2), g.scenario({"a", "wait", "b"}));
  BOOST_TEST((report.makespan == Duration{150}));
  BOOST_TEST((report.lower_bound == Duration{100}));
  BOOST_TEST(report.overlap_efficiency() == 100.0 / 150, boost::test_tools::tolerance(1e-12));
}

// a 100 ── b 50, and c 150 on another device: critical path and both devices take 150.
BOOST_AUTO_TEST_CASE(of_equal_bounds_a_resource_is_named_and_of_several_the_last) {
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, on(d0));
  g.work("b", 50, {a}, on(d0));
  BOOST_TEST(simulate(g, row(1)).bound_by == "d0");
  g.work("c", 150, {}, on(DeviceId{1}));
  BOOST_TEST(simulate(g, row(2)).bound_by == "d1");
}

BOOST_AUTO_TEST_CASE(ops_that_take_no_time_are_no_trouble) {
  SmallGraph g;
  const OpId a = g.work("a", 0);
  g.work("b", 0, {a});
  const ScenarioReport report = simulate(g, row(1));
  BOOST_TEST(report.ops == 2U);
  BOOST_TEST((report.makespan == Duration{0}));
  BOOST_TEST((report.lower_bound == Duration{0}));
  BOOST_TEST(report.speedup() == 1);
  BOOST_TEST(report.overlap_efficiency() == 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
