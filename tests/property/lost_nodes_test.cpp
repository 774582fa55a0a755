// Random graphs on random machines of several nodes, some of which are lost while actors run them:
// what is wanted is made all the same, and equals the serial execution bit for bit.
#include "actors/runner.hpp"
#include "core/trace/writers.hpp"
#include "tests/support/node_case.hpp"
#include "tests/support/seeds.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(lost_nodes)
namespace {

using testing::NodeCase;
using testing::seeds;

std::string json(const Report& report) {
  std::ostringstream out;
  write_report_json(report, out);
  return out.str();
}

void check_nothing_begins_on_lost(const Machine& machine, const std::vector<NodeLoss>& losses,
                                  const Timeline& timeline) {
  for (const auto& [node, after] : losses) {
    const std::string own = machine.nodes[node.index()] + ".";
    for (const Span& span : timeline.spans) {
      if (!timeline.tracks[span.track].resource.starts_with(own)) continue;
      BOOST_TEST((span.start <= Instant{after}), timeline.name(span) << " began on " << own);
    }
  }
}

BOOST_AUTO_TEST_CASE(results_are_right_whichever_nodes_are_lost_and_when) {
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= seeds(300); ++seed) {
    NodeCase c(seed);
    const Duration whole = c.perform({.mode = Mode::simulate, .seed = seed}).scenarios[0].makespan;
    const std::vector<NodeLoss> losses = c.random_losses(whole);
    for (const std::uint64_t order : {std::uint64_t{0}, seed}) {
      BOOST_TEST_CONTEXT("seed " << seed << ", order " << order) {
        const Report report = c.perform(
            {.mode = Mode::rehearse, .seed = order, .on_loss = OnLoss::replan, .losses = losses});
        const ScenarioReport& s = report.scenarios[0];
        BOOST_TEST((s.outcome == Outcome::done), s.error);
        BOOST_TEST((s.verified == true), s.mismatch);
        BOOST_TEST(s.finished == s.planned);
        lost += report.notes.size();
      }
    }
  }
  BOOST_TEST(lost > 0U);
}

BOOST_AUTO_TEST_CASE(a_loss_is_simulated_as_it_is_rehearsed) {
  for (std::uint64_t seed = 1; seed <= seeds(100); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      NodeCase c(seed);
      RunOptions options{.mode = Mode::simulate, .seed = seed, .on_loss = OnLoss::replan};
      options.losses = c.random_losses(c.perform({.mode = Mode::simulate}).scenarios[0].makespan);
      const Report simulated = c.perform(options);
      BOOST_TEST((simulated.scenarios[0].outcome == Outcome::done), simulated.scenarios[0].error);
      check_nothing_begins_on_lost(c.machine, options.losses, simulated.scenarios[0].timeline);
      BOOST_TEST(json(simulated) == json(c.perform(options)));
      options.mode = Mode::rehearse;
      options.verify = false;
      BOOST_TEST((c.perform(options).scenarios[0].makespan == simulated.scenarios[0].makespan));
    }
  }
}

BOOST_AUTO_TEST_CASE(results_are_right_when_others_take_the_places_of_lost_nodes) {
  std::uint64_t replaced = 0;
  for (std::uint64_t seed = 1; seed <= seeds(100); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      NodeCase c(seed);
      const Duration whole = c.perform({.mode = Mode::simulate}).scenarios[0].makespan;
      const std::vector<NodeLoss> losses = c.random_losses(whole);
      const Duration wait = whole / static_cast<int>(1 + c.random.below(8));
      const RunOptions options{.mode = Mode::rehearse,
                               .seed = seed,
                               .on_loss = OnLoss::wait,
                               .wait_max = wait,
                               .losses = losses};
      const Report report = c.perform(options);
      const ScenarioReport& s = report.scenarios[0];
      BOOST_TEST((s.outcome == Outcome::done), s.error);
      BOOST_TEST((s.verified == true), s.mismatch);
      BOOST_TEST(s.finished == s.planned);
      for (const std::string& note : report.notes) {
        replaced += note.find(", and replaced after ") == std::string::npos ? 0 : 1;
      }
      for (const auto& [node, after] : losses) {
        const std::string own = c.machine.nodes[node.index()] + ".";
        for (const Span& span : s.timeline.spans) {
          if (!s.timeline.tracks[span.track].resource.starts_with(own)) continue;
          const bool is_meanwhile =
              span.start > Instant{after} && span.start < Instant{after + wait};
          BOOST_TEST(!is_meanwhile, s.timeline.name(span) << " began on " << own);
        }
      }
    }
  }
  BOOST_TEST(replaced > 0U);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_to_fail_names_the_node_that_was_lost) {
  NodeCase c(8);
  const Report report = c.perform(
      {.mode = Mode::simulate, .on_loss = OnLoss::fail, .losses = {{NodeId{1}, Duration{0}}}});
  BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
  BOOST_TEST(report.scenarios[0].error == "node n1 was lost");
}

BOOST_AUTO_TEST_CASE(a_run_whose_nodes_are_all_lost_fails) {
  NodeCase c(8);
  std::vector<NodeLoss> losses;
  for (std::size_t n = 0; n < c.machine.nodes.size(); ++n) losses.push_back({NodeId::at(n)});
  const Report report =
      c.perform({.mode = Mode::simulate, .on_loss = OnLoss::replan, .losses = losses});
  BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
