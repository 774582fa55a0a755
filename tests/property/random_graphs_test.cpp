// Random graphs on random machines, run by actors: every result equals the serial execution bit for
// bit, under any order of messages, and every timeline obeys its graph.
#include "actors/runner.hpp"
#include "core/plan/planner.hpp"
#include "core/trace/writers.hpp"
#include "tests/property/timeline_check.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/seeds.hpp"

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(random_graphs)
namespace {

using testing::plan_by_rates;
using testing::RandomCase;
using testing::TimelineCheck;

Report perform(const RandomCase& c, Mode mode, std::uint64_t order) {
  const std::vector<Scenario> scenarios{c.scenario};
  return Run(c.machine, c.graph, scenarios, {.mode = mode, .seed = order}).perform();
}

void check(const RandomCase& c, const Report& report) {
  BOOST_TEST_REQUIRE(report.scenarios.size() == 1U);
  const ScenarioReport& s = report.scenarios[0];
  BOOST_TEST_REQUIRE((s.outcome == Outcome::done), s.error);
  TimelineCheck(c.graph, c.machine, c.scenario, s).run();
}

bool is_accepted(const RandomCase& c) {
  try {
    plan_by_rates(c.graph, c.machine, c.scenario, {.needs_costs = true});
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Makes each memory, one after the other, as small as the planner accepts, to within 256 bytes.
void shrink_memories(RandomCase& c) {
  for (Memory& memory : c.machine.memories) {
    for (std::uint64_t step = memory.size_bytes / 2; step >= 256; step /= 2) {
      memory.size_bytes -= step;
      if (!is_accepted(c)) memory.size_bytes += step;
    }
  }
}

// Some devices are given ops before the ops have ended that these depend on.
void issue_ahead(RandomCase& c) {
  for (Device& device : c.machine.devices) {
    constexpr std::array depths = {1, 2, 2, 3, 64};
    device.issue_depth = depths[c.random.below(depths.size())];
  }
}

std::string trace(const Report& report) {
  std::ostringstream out;
  write_chrome_trace(report, out);
  return out.str();
}

std::string json(const Report& report) {
  std::ostringstream out;
  write_report_json(report, out);
  return out.str();
}

BOOST_AUTO_TEST_CASE(rehearsed_results_are_right_under_any_order_of_messages) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(250); ++seed) {
    const RandomCase c(seed);
    for (std::uint64_t order = 0; order < 3; ++order) {
      BOOST_TEST_CONTEXT("seed " << seed << ", order " << order) {
        const Report report = perform(c, Mode::rehearse, order);
        check(c, report);
        BOOST_TEST((report.scenarios[0].verified == true), report.scenarios[0].mismatch);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_issued_ahead_is_right_under_any_order_of_messages) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(250); ++seed) {
    RandomCase c(seed);
    issue_ahead(c);
    if (seed % 5 == 0) shrink_memories(c);
    for (std::uint64_t order = 0; order < 3; ++order) {
      BOOST_TEST_CONTEXT("seed " << seed << ", order " << order) {
        const Report report = perform(c, Mode::rehearse, order);
        check(c, report);
        BOOST_TEST((report.scenarios[0].verified == true), report.scenarios[0].mismatch);
        const Report simulated = perform(c, Mode::simulate, order);
        check(c, simulated);
        BOOST_TEST(trace(simulated) == trace(report));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(real_results_are_right) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(60); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const RandomCase c(seed);
      const Report report = perform(c, Mode::run, 0);
      check(c, report);
      BOOST_TEST((report.scenarios[0].verified == true), report.scenarios[0].mismatch);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_rehearsal_takes_the_times_of_a_simulation) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(100); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const RandomCase c(seed);
      const Report simulated = perform(c, Mode::simulate, seed % 3);
      const Report rehearsed = perform(c, Mode::rehearse, seed % 3);
      check(c, simulated);
      BOOST_TEST((simulated.scenarios[0].makespan == rehearsed.scenarios[0].makespan));
      BOOST_TEST(trace(simulated) == trace(rehearsed));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_report_and_trace) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(100); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const RandomCase c(seed);
      const Report first = perform(c, Mode::simulate, seed);
      const Report second = perform(RandomCase(seed), Mode::simulate, seed);
      BOOST_TEST(json(first) == json(second));
      BOOST_TEST(trace(first) == trace(second));
    }
  }
}

// No order of messages may need more memory than the planner requires.
BOOST_AUTO_TEST_CASE(a_plan_that_fits_the_memories_fits_them_when_it_runs) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(150); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      RandomCase c(seed);
      shrink_memories(c);
      for (std::uint64_t order = 0; order < 3; ++order) {
        check(c, perform(c, Mode::simulate, order));
      }
      if (seed > 40) continue;
      for (const Mode mode : {Mode::rehearse, Mode::run}) {
        const Report report = perform(c, mode, seed);
        check(c, report);
        BOOST_TEST((report.scenarios[0].verified == true), report.scenarios[0].mismatch);
      }
    }
  }
}

// Large graphs of tiny tensors: many more messages, windows and early notices.
BOOST_AUTO_TEST_CASE(larger_graphs_are_right_too) {
  for (std::uint64_t seed = 1001; seed <= 1010; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const RandomCase c(seed, {.ops_max = 3000, .small = true});
      for (const Mode mode : {Mode::rehearse, Mode::run}) {
        const Report report = perform(c, mode, seed);
        check(c, report);
        BOOST_TEST((report.scenarios[0].verified == true), report.scenarios[0].mismatch);
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
