// Random graphs on random machines, run by the run logic alone, without actors.
#include "core/plan/planner.hpp"
#include "core/result/summary.hpp"
#include "tests/support/logic_simulation.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/stream_windows.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(random_runs)
namespace {

using testing::LogicSimulation;
using testing::plan_by_rates;
using testing::RandomCase;

ScenarioReport simulate(const RandomCase& c, const LogicSimulation::Options& options,
                        bool streamed = false) {
  Plan plan = plan_by_rates(c.graph, c.machine, c.scenario, {.needs_costs = true});
  if (streamed) testing::stream_windows(plan);
  const RunResult result = LogicSimulation(c.machine, plan, options).run();
  return summarize(c.graph, c.machine, plan, "random", result);
}

// Whether the track belongs to a link. Tracks of devices' streams are numbered first.
bool is_link(const ScenarioReport& report, std::uint32_t track) {
  int streams = 0;
  for (const ResourceUse& use : report.resources) {
    if (use.kind == ResourceUse::Kind::device) streams += use.streams;
  }
  return track >= static_cast<std::uint32_t>(streams);
}

// Checks what must hold for every report, whether the run was completed or not.
void check(const ScenarioReport& report) {
  const Timeline& t = report.timeline;
  BOOST_TEST(t.spans.size() == report.finished);
  BOOST_TEST((report.lower_bound <= report.makespan));
  for (const ResourceUse& use : report.resources) {
    BOOST_TEST(use.utilisation >= 0);
    BOOST_TEST(use.utilisation <= 1 + 1e-9);
  }
  Duration last{0};
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    BOOST_TEST((t.spans[i].start >= Instant{}));
    BOOST_TEST((t.spans[i].start <= t.spans[i].end));
    last = std::max(last, t.spans[i].end.time_since_epoch());
    for (std::uint32_t k = t.first_predecessor[i]; k < t.first_predecessor[i + 1]; ++k) {
      const Span& before = t.spans[t.predecessors[k]];
      BOOST_TEST((before.start <= t.spans[i].start));
      BOOST_TEST((before.end <= t.spans[i].end));
      // Only on a route may a transfer start before the one before it has ended.
      if (is_link(report, before.track) && is_link(report, t.spans[i].track)) continue;
      BOOST_TEST((before.end <= t.spans[i].start));
    }
  }
  BOOST_TEST((report.makespan == last));
}

BOOST_AUTO_TEST_CASE(every_run_ends_with_all_done_in_an_order_that_the_graph_allows) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(300); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const RandomCase c(seed);
      for (std::uint64_t order = 0; order < 3; ++order) {
        const ScenarioReport report = simulate(c, {.seed = order});
        BOOST_TEST((report.outcome == Outcome::done));
        BOOST_TEST(report.timeline.spans.size() == report.planned);
        check(report);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(interrupted_and_failed_runs_end_and_report_what_finished) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(200); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      RandomCase c(seed);
      const ScenarioReport interrupted =
          simulate(c, {.seed = seed, .interrupt_after = c.random.below(40)});
      check(interrupted);
      BOOST_TEST((interrupted.outcome != Outcome::failed));
      const ScenarioReport failed =
          simulate(c, {.seed = seed, .failing = UnitId::at(c.random.below(c.graph.size()))});
      check(failed);
      BOOST_TEST((failed.outcome != Outcome::interrupted));
    }
  }
}

// Whether a span starts before a span of an earlier window has ended.
bool windows_overlap(const RandomCase& c, const ScenarioReport& report) {
  const Plan plan = plan_by_rates(c.graph, c.machine, c.scenario, {.needs_costs = true});
  Instant last_end = Instant::min();
  std::size_t next = 0;
  for (const Window& window : plan.windows) {
    if (!window.timed) continue;
    Instant window_end = last_end;
    for (std::uint64_t u = 0; u < window.items; ++u) {
      if (plan.units[window.first.index() + u].is_further) continue;
      const Span& span = report.timeline.spans[next++];
      if (span.start < last_end) return true;
      window_end = std::max(window_end, span.end);
    }
    last_end = window_end;
  }
  return false;
}

BOOST_AUTO_TEST_CASE(windows_that_need_not_wait_overlap_and_wait_for_their_inputs) {
  std::size_t overlapping = 0;
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(300); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const RandomCase c(seed);
      BOOST_TEST(!windows_overlap(c, simulate(c, {})));
      for (std::uint64_t order = 0; order < 3; ++order) {
        const ScenarioReport report = simulate(c, {.seed = order}, true);
        BOOST_TEST_REQUIRE((report.outcome == Outcome::done));
        BOOST_TEST_REQUIRE(report.timeline.spans.size() == report.planned);
        check(report);
        overlapping += windows_overlap(c, report) ? 1U : 0U;
      }
    }
  }
  BOOST_TEST(overlapping > 0U);
}

BOOST_AUTO_TEST_CASE(runs_with_several_windows_under_way_may_be_interrupted_or_fail) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(200); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      RandomCase c(seed);
      const ScenarioReport interrupted =
          simulate(c, {.seed = seed, .interrupt_after = c.random.below(40)}, true);
      check(interrupted);
      BOOST_TEST((interrupted.outcome != Outcome::failed));
      const ScenarioReport failed =
          simulate(c, {.seed = seed, .failing = UnitId::at(c.random.below(c.graph.size()))}, true);
      check(failed);
      BOOST_TEST((failed.outcome != Outcome::interrupted));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
