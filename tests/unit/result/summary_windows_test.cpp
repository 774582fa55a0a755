// Windows that are added to the summary one by one, and forgotten.
#include "core/plan/planner.hpp"
#include "core/result/summary.hpp"
#include "tests/support/logic_simulation.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"
#include "tests/support/stream_windows.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <malloc.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(summary_windows)
namespace {

using testing::LogicSimulation;
using testing::on;
using testing::plan_by_rates;
using testing::RandomCase;

struct Run {
  Plan plan;
  RunResult result;
};

Run simulate(const RandomCase& c, const LogicSimulation::Options& options) {
  Run run{plan_by_rates(c.graph, c.machine, c.scenario, {.needs_costs = true}), {}};
  testing::stream_windows(run.plan);
  run.result = LogicSimulation(c.machine, run.plan, options).run();
  return run;
}

// The oldest unit that windows from number `begin` on make or read.
UnitId oldest_used_from(const Plan& plan, std::size_t begin) {
  UnitId oldest = UnitId::at(plan.units.size());
  for (std::size_t w = begin; w < plan.windows.size(); ++w) {
    oldest = std::min(oldest, plan.windows[w].first);
    for (const auto& [resource, share] : plan.windows[w].shares) {
      for (const ReplicaId input : share.inputs) oldest = std::min(oldest, maker_of(input));
    }
  }
  return oldest;
}

// Forgets all units no longer needed after each window. If the run failed, the plan's units are
// kept, since the failure names one.
ScenarioReport summarize_by_window(const RandomCase& c, Run run, bool with_timeline) {
  Summary summary(c.graph, c.machine, run.plan, with_timeline);
  for (std::size_t w = 0; w < run.plan.windows.size(); ++w) {
    const Window& window = run.plan.windows[w];
    summary.add(window);
    summary.forget_before(oldest_used_from(run.plan, w + 1));
    if (run.result.ending == Ending::failed) continue;
    run.plan.units.forget_before(window.first.index() + window.items);
  }
  return summary.finish("random", run.result);
}

void check_same(const ScenarioReport& a, const ScenarioReport& b) {
  BOOST_TEST((a.outcome == b.outcome));
  BOOST_TEST(a.error == b.error);
  BOOST_TEST(a.ops == b.ops);
  BOOST_TEST(a.transfers == b.transfers);
  BOOST_TEST(a.planned == b.planned);
  BOOST_TEST(a.finished == b.finished);
  BOOST_TEST((a.serial == b.serial));
  BOOST_TEST((a.makespan == b.makespan));
  BOOST_TEST((a.lower_bound == b.lower_bound));
  BOOST_TEST(a.bound_by == b.bound_by);
  BOOST_TEST_REQUIRE(a.resources.size() == b.resources.size());
  for (std::size_t r = 0; r < a.resources.size(); ++r) {
    BOOST_TEST(a.resources[r].name == b.resources[r].name);
    BOOST_TEST(a.resources[r].streams == b.resources[r].streams);
    BOOST_TEST((a.resources[r].busy == b.resources[r].busy));
    BOOST_TEST(a.resources[r].utilisation == b.resources[r].utilisation);
  }
}

void check_same(const Timeline& a, const Timeline& b) {
  const auto is_same = [](const Span& s, const Span& t) {
    return s.track == t.track && s.label == t.label && s.index == t.index && s.start == t.start &&
           s.end == t.end;
  };
  BOOST_TEST(a.labels == b.labels);
  BOOST_TEST(std::equal(a.spans.begin(), a.spans.end(), b.spans.begin(), b.spans.end(), is_same));
  BOOST_TEST(a.first_predecessor == b.first_predecessor);
  BOOST_TEST(a.predecessors == b.predecessors);
}

void check_by_window(const RandomCase& c, const LogicSimulation::Options& options) {
  Run run = simulate(c, options);
  const ScenarioReport without = summarize_by_window(c, run, false);
  const ScenarioReport with = summarize_by_window(c, run, true);
  const ScenarioReport whole = summarize(c.graph, c.machine, run.plan, "random", run.result);
  check_same(without, whole);
  BOOST_TEST(without.timeline.spans.empty());
  check_same(with, whole);
  check_same(with.timeline, whole.timeline);
}

// The graphs are so large that memory of forgotten units is freed.
BOOST_AUTO_TEST_CASE(windows_one_by_one_give_the_report_of_the_whole_run) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(100); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      check_by_window(RandomCase(seed, {.ops_max = 400, .small = true}), {.seed = seed});
    }
  }
}

BOOST_AUTO_TEST_CASE(runs_that_end_early_give_the_report_of_the_whole_run_too) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(100); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      RandomCase c(seed, {.ops_max = 300, .small = true});
      check_by_window(c, {.seed = seed, .interrupt_after = c.random.below(200)});
      check_by_window(c, {.seed = seed, .failing = UnitId::at(c.random.below(c.graph.size()))});
    }
  }
}

// op 0 │ op 1 │ … of one device, four in a window
BOOST_AUTO_TEST_CASE(a_long_chain_of_windows_takes_no_more_memory_than_a_short_one) {
  const auto bytes_in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  testing::SmallMachine m;
  const DeviceId device = m.device("dev0", m.memory("a"));
  Graph graph(testing::test_ops());
  graph.begin_group("chain", true);
  const OpTemplateId op_template = graph.add_template({.kind = graph.kinds().find("work"),
                                                       .placement = on(device),
                                                       .attrs = {{"flops", 10.0}},
                                                       .declared = testing::of_bytes(8)});
  WindowPlanner planner(graph, m.machine, {.cost = default_cost_model(m.machine)});
  Summary summary(graph, m.machine, planner.plan(), false);
  constexpr std::uint32_t windows = 10'000;
  constexpr std::uint32_t each = 4;
  std::size_t before = 0;
  std::vector<OpId> inputs;
  for (std::uint32_t w = 0; w < windows; ++w) {
    if (w == 1000) before = bytes_in_use();
    for (std::uint32_t i = 0; i < each; ++i) inputs = {graph.append(op_template, inputs)};
    Window window = planner.plan(inputs[0]).window;
    Share& share = window.shares[0].second;
    for (std::uint32_t i = 0; i < each; ++i) {
      share.items[i].start = Instant{Duration{12 * (w * each + i)}};
      share.items[i].end = share.items[i].start + Duration{10};
    }
    summary.add(window);
    const UnitId last = UnitId::at(window.first.index() + each - 1);
    summary.forget_before(last);
    planner.forget(w + 1, ReplicaId{last.value});
    graph.forget_before(inputs[0]);
  }
  const std::size_t now = bytes_in_use();
  BOOST_TEST(now < before + (64 << 10), now - before << " bytes more");
  RunResult result;
  result.origin = Instant{};
  const ScenarioReport report = summary.finish("chain", result);
  BOOST_TEST(report.ops == windows * each);
  BOOST_TEST(report.serial.count() == 10 * windows * each);
  BOOST_TEST(report.makespan.count() == 12 * windows * each - 2);
  BOOST_TEST(report.lower_bound.count() == 10 * windows * each);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
