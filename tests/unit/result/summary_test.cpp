#include "core/result/summary.hpp"

#include "core/plan/planner.hpp"
#include "tests/support/logic_simulation.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(summaries)
namespace {

using testing::LogicSimulation;
using testing::on;
using testing::plan_by_rates;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::to;
using Names = std::vector<std::string>;

constexpr DeviceId gpu0{0};
constexpr DeviceId cpu{1};
constexpr MemoryId host{1};

// gpu0 (two streams) ──pcie0── host with a CPU
Machine gpu_and_host() {
  SmallMachine m;
  const MemoryId vram = m.memory("vram0");
  const MemoryId ram = m.memory("host");
  m.device("gpu0", vram, 2);
  m.device("cpu", ram);
  m.link("pcie0", vram, ram);
  return m.machine;
}

ScenarioReport simulate(const SmallGraph& g, const Scenario& scenario,
                        LogicSimulation::Options options = {}) {
  const Machine machine = gpu_and_host();
  Plan plan = plan_by_rates(g.graph, machine, scenario, {.needs_costs = true});
  const RunResult result = LogicSimulation(machine, plan, options).run();
  return summarize(g.graph, machine, plan, scenario.name, result);
}

// "y[1] on pcie0 vram0→host 100-200"
Names spans(const ScenarioReport& report) {
  Names names;
  for (const Span& s : report.timeline.spans) {
    names.push_back(report.timeline.name(s) + " on " + report.timeline.tracks[s.track].name + " " +
                    std::to_string(s.start.time_since_epoch().count()) + "-" +
                    std::to_string(s.end.time_since_epoch().count()));
  }
  return names;
}

void expect_spans(const ScenarioReport& report, const Names& wanted) {
  BOOST_TEST(spans(report) == wanted, boost::test_tools::per_element());
}

// x on gpu0 ── y on cpu, after a loss of gpu0 with what it has recorded
BOOST_AUTO_TEST_CASE(a_span_has_no_arrow_from_a_unit_whose_record_never_came) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(gpu0));
  g.work("y", 50, {x}, on(cpu));
  const Machine machine = gpu_and_host();
  Plan plan = plan_by_rates(g.graph, machine, g.everything(), {.needs_costs = true});
  const RunResult result = LogicSimulation(machine, plan, {}).run();
  for (auto& [resource, share] : plan.windows.front().shares) {
    if (resource == ResourceId{gpu0.value}) share.items[0].end = Share::never;
  }
  const ScenarioReport report = summarize(g.graph, machine, plan, "test", result);
  const Timeline& timeline = report.timeline;
  BOOST_TEST_REQUIRE(timeline.spans.size() == 2U);
  BOOST_TEST(timeline.predecessors == std::vector<std::uint32_t>{0},
             boost::test_tools::per_element());
}

// x 100 ── y 50 on one device, its clock having started 40 ns after the run's
BOOST_AUTO_TEST_CASE(times_count_from_when_the_clock_of_the_scenario_started) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(cpu));
  g.work("y", 50, {x}, on(cpu));
  const Machine machine = gpu_and_host();
  Plan plan = plan_by_rates(g.graph, machine, g.everything(), {.needs_costs = true});
  RunResult result = LogicSimulation(machine, plan, {}).run();
  for (auto& [resource, share] : plan.windows.front().shares) {
    for (std::uint32_t i = 0; i < share.size(); ++i) {
      share.items[i].start += Duration{40};
      share.items[i].end += Duration{40};
    }
  }
  result.origin = Instant{Duration{40}};
  const ScenarioReport report = summarize(g.graph, machine, plan, "test", result);
  BOOST_TEST((report.makespan == Duration{150}));
  expect_spans(report, {"x on cpu 0-100", "y on cpu 100-150"});
}

// x 100 ─┬─ y 50 on cpu
//        └─ copy to the host
BOOST_AUTO_TEST_CASE(spans_name_ops_and_transfers_and_the_track_they_ran_on) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(gpu0), 80);
  g.work("y", 50, {x}, on(cpu));
  const OpId copy = g.copy("copy", x, to(host));
  static_cast<void>(copy);
  const ScenarioReport report = simulate(g, g.everything());
  // x is in the host's memory already, so the CPU makes the copy there.
  expect_spans(report, {"x on gpu0 stream 0 0-100", "→x on pcie0 vram0→host 100-180",
                        "y on cpu 180-230", "copy on cpu 230-230"});
}

// run[0] … run[2], each copied to the host
BOOST_AUTO_TEST_CASE(ops_of_a_group_carry_their_index_and_streams_their_number) {
  SmallGraph g;
  const GroupId run = g.graph.begin_group("run", true);
  for (int i = 0; i < 3; ++i) {
    const OpSpec op{.kind = g.graph.kinds().find("work"),
                    .placement = on(gpu0),
                    .attrs = {{"flops", 100.0}},
                    .declared = testing::of_bytes(80)};
    g.graph.append(op);
  }
  g.graph.begin_group("copy", true);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const OpId input{g.graph.group(run).first.value + i};
    g.graph.append({.kind = g.graph.kinds().find("copy"),
                    .inputs = std::span(&input, 1),
                    .placement = to(host)});
  }
  const ScenarioReport report = simulate(g, g.everything());
  expect_spans(report,
               {"run[0] on gpu0 stream 0 0-100", "run[1] on gpu0 stream 1 0-100",
                "run[2] on gpu0 stream 0 100-200", "copy[0] on pcie0 vram0→host 100-180",
                "copy[1] on pcie0 vram0→host 180-260", "copy[2] on pcie0 vram0→host 260-340"});
  BOOST_TEST(report.ops == 6U);
  BOOST_TEST(report.transfers == 3U);
  BOOST_TEST(report.planned == 6U);
  BOOST_TEST(report.finished == 6U);  // a copy over a link is one unit, though an op and a transfer
  BOOST_TEST((report.serial == Duration{540}));
  BOOST_TEST((report.makespan == Duration{340}));
  BOOST_TEST(report.timeline.predecessors == (std::vector<std::uint32_t>{0, 1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(report.timeline.first_predecessor == (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 2, 3}),
             boost::test_tools::per_element());
}

// a, b, c ── y, which reads c, a, c, b and a
BOOST_AUTO_TEST_CASE(a_span_has_one_arrow_from_each_tensor_in_the_order_in_which_it_is_read) {
  SmallGraph g;
  const OpId a = g.work("a", 10, {}, on(cpu));
  const OpId b = g.work("b", 10, {}, on(cpu));
  const OpId c = g.work("c", 10, {}, on(cpu));
  g.work("y", 50, {c, a, c, b, a}, on(cpu));
  const ScenarioReport report = simulate(g, g.everything());
  BOOST_TEST(report.timeline.predecessors == (std::vector<std::uint32_t>{2, 0, 1}),
             boost::test_tools::per_element());
}

// prepared x ── run
BOOST_AUTO_TEST_CASE(prepared_ops_are_neither_counted_nor_shown) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(gpu0), 80);
  const OpId run = g.work("run", 100, {x}, on(gpu0));
  g.work("after", 1, {x, run}, on(gpu0));
  const ScenarioReport report = simulate(g, g.scenario({"run", "wait", "after"}));
  expect_spans(report, {"run on gpu0 stream 0 0-100", "after on gpu0 stream 0 100-101"});
  BOOST_TEST(report.ops == 2U);
  BOOST_TEST(report.planned == 2U);
  BOOST_TEST((report.makespan == Duration{101}));
  BOOST_TEST(report.timeline.predecessors == std::vector<std::uint32_t>{0},
             boost::test_tools::per_element());
}

// x ── copy to the host ── y on gpu0: moving the copy's tensor back is a transfer, not a copy
BOOST_AUTO_TEST_CASE(moving_the_result_of_a_copy_is_a_transfer_and_not_the_copy) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(gpu0), 80);
  const OpId copy = g.copy("copy", x, to(host));
  g.work("y", 50, {copy}, on(gpu0));
  const ScenarioReport report = simulate(g, g.everything());
  expect_spans(report, {"x on gpu0 stream 0 0-100", "copy on pcie0 vram0→host 100-180",
                        "→copy on pcie0 host→vram0 180-260", "y on gpu0 stream 0 260-310"});
  BOOST_TEST(report.ops == 3U);
  BOOST_TEST(report.transfers == 2U);
}

BOOST_AUTO_TEST_CASE(every_device_and_every_link_direction_has_a_row) {
  SmallGraph g;
  const OpId x = g.work("x", 80, {}, on(gpu0), 80);
  g.copy("copy", x, to(host));
  const ScenarioReport report = simulate(g, g.everything());
  BOOST_REQUIRE(report.resources.size() == 4U);
  BOOST_TEST(report.resources[0].name == "gpu0");
  BOOST_TEST(report.resources[0].streams == 2);
  BOOST_TEST(report.resources[0].utilisation == 0.25);
  BOOST_TEST(report.resources[1].name == "cpu");
  BOOST_TEST((report.resources[1].busy == Duration{0}));
  BOOST_TEST(report.resources[2].name == "pcie0 vram0→host");
  BOOST_TEST((report.resources[2].kind == ResourceUse::Kind::link));
  BOOST_TEST(report.resources[2].utilisation == 0.5);
  BOOST_TEST(report.resources[3].name == "pcie0 host→vram0");
  BOOST_TEST(report.resources[3].utilisation == 0);
  BOOST_TEST(report.timeline.tracks.size() == 5U);
}

// a 100 ── b 100 ── c 100, interrupted after a
BOOST_AUTO_TEST_CASE(an_interrupted_run_reports_what_finished) {
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, on(cpu));
  const OpId b = g.work("b", 100, {a}, on(cpu));
  g.work("c", 100, {b}, on(cpu));
  const ScenarioReport report = simulate(g, g.everything(), {.interrupt_after = 1});
  BOOST_TEST((report.outcome == Outcome::interrupted));
  BOOST_TEST(report.planned == 3U);
  BOOST_TEST(report.ops >= 1U);
  BOOST_TEST(report.ops < 3U);
  BOOST_TEST(report.timeline.spans.size() == report.ops);
  BOOST_TEST((report.makespan == Duration{100} * report.ops));
  BOOST_TEST((report.lower_bound == report.makespan));
}

BOOST_AUTO_TEST_CASE(a_run_interrupted_while_preparing_reports_nothing_done) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(cpu));
  const OpId y = g.work("y", 100, {x}, on(cpu));
  g.work("run", 100, {y}, on(cpu));
  const ScenarioReport report = simulate(g, g.scenario({"run"}), {.interrupt_after = 1});
  BOOST_TEST((report.outcome == Outcome::interrupted));
  BOOST_TEST(report.ops == 0U);
  BOOST_TEST(report.planned == 1U);
  BOOST_TEST((report.makespan == Duration{0}));
  BOOST_TEST(report.timeline.spans.empty());
}

// a 100 ── b 100 (fails)    c 250 on another stream
BOOST_AUTO_TEST_CASE(a_failed_run_reports_the_cause_and_what_finished) {
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, on(gpu0));
  g.work("b", 100, {a}, on(gpu0));
  g.work("c", 250, {}, on(gpu0));
  const ScenarioReport report = simulate(g, g.everything(), {.failing = UnitId{1}});
  BOOST_TEST((report.outcome == Outcome::failed));
  BOOST_TEST(report.error == "'b' on gpu0: on purpose");
  expect_spans(report, {"a on gpu0 stream 1 0-100", "c on gpu0 stream 0 0-250"});
}

// a 10 (fails)    c 100 | b 50    d 50 on cpu
BOOST_AUTO_TEST_CASE(ops_that_never_began_are_not_reported) {
  SmallGraph g;
  g.work("a", 10, {}, on(gpu0));
  g.work("c", 100, {}, on(gpu0));
  g.work("b", 50, {}, on(gpu0));
  g.work("d", 50, {}, on(cpu));
  const ScenarioReport report =
      simulate(g, g.scenario({"a", "c", "wait", "b", "d"}), {.failing = UnitId{0}});
  BOOST_TEST((report.outcome == Outcome::failed));
  expect_spans(report, {"c on gpu0 stream 0 0-100"});
  BOOST_TEST(report.planned == 4U);
  BOOST_TEST(report.ops == 1U);
  BOOST_TEST(report.finished == 1U);
  BOOST_TEST((report.lower_bound == Duration{100}));
}

BOOST_AUTO_TEST_CASE(an_empty_scenario_is_done_at_once) {
  SmallGraph g;
  const ScenarioReport report = simulate(g, g.scenario({"wait"}));
  BOOST_TEST((report.outcome == Outcome::done));
  BOOST_TEST(report.planned == 0U);
  BOOST_TEST((report.makespan == Duration{0}));
}

BOOST_AUTO_TEST_CASE(units_are_named_by_op_and_resource) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(gpu0));
  g.copy("copy", x, to(host));
  const Machine machine = gpu_and_host();
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
  BOOST_TEST(unit_name(g.graph, machine, plan, UnitId{0}) == "'x' on gpu0");
  BOOST_TEST(unit_name(g.graph, machine, plan, UnitId{1}) == "'copy' over pcie0");
  BOOST_TEST(unit_needs(g.graph, plan, UnitId{0}) == "nothing");
  BOOST_TEST(unit_needs(g.graph, plan, UnitId{1}) == "'x'");
  BOOST_TEST(resource_name(machine, ResourceId{2}) == "pcie0");
}

// x ── copy ─┬─ z on cpu
//        y ──┘
BOOST_AUTO_TEST_CASE(a_failure_is_described_by_its_unit_or_by_what_is_stuck) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(gpu0));
  const OpId copy = g.copy("copy", x, to(host));
  const OpId y = g.work("y", 100, {}, on(cpu));
  g.work("z", 100, {copy, y}, on(cpu));
  const Machine machine = gpu_and_host();
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
  const auto pending = [](std::uint32_t unit, std::uint32_t missing) {
    return CoordinatorLogic::Status{.resource = {}, .pending = UnitId{unit}, .missing = missing};
  };
  const auto words = [&](const CoordinatorLogic::Failure& failure) {
    return describe(failure, g.graph, machine, plan);
  };
  BOOST_TEST(words({}).empty());
  BOOST_TEST(words({.cause = "gpu0 is gone"}) == "gpu0 is gone");
  BOOST_TEST(words({.cause = "no room", .unit = UnitId{1}}) == "'copy' over pcie0: no room");
  BOOST_TEST(words({.cause = "2 are pending", .stuck = {pending(1, 0)}}) ==
             "2 are pending: 'copy' over pcie0 waits for the rest of a transfer");
  BOOST_TEST(
      words({.cause = "3 are pending", .stuck = {pending(0, 1), pending(1, 1), pending(3, 2)}}) ==
      "3 are pending: 'x' on gpu0 waits for 1 of nothing; 'copy' over pcie0 waits for 1 of "
      "'x'; 'z' on cpu waits for 2 of 'copy', 'y'");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
