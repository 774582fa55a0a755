// Random graphs on random machines of several nodes, some of which are lost while actors run them:
// what is wanted is made all the same, and equals the serial execution bit for bit.
#include "actors/runner.hpp"
#include "core/machine/node_joiner.hpp"
#include "core/trace/writers.hpp"
#include "tests/support/random_case.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(lost_nodes)
namespace {

using testing::random_graph;
using testing::random_machine;
using testing::random_scenario;

// How many seeds to try; tools/soak tries more.
std::uint64_t seeds(std::uint64_t usual) {
  const char* const wanted = std::getenv("TROUPE_SEEDS");
  return wanted != nullptr ? std::stoull(wanted) : usual;
}

struct NodeCase {
  explicit NodeCase(std::uint64_t seed) : random(seed) {
    machine.name = "random nodes";
    NodeJoiner joiner(machine);
    const std::size_t nodes = 2 + random.below(4);
    for (std::size_t n = 0; n < nodes; ++n) {
      const Machine node = random_machine(random);
      joiner.add_node("n" + std::to_string(n), node, default_network_memory(node));
    }
    joiner.add_network(
        {.bandwidth = 1e9, .latency = Duration{20'000}, .chunk_bytes = std::uint64_t{1} << 12});
    graph = random_graph(random, machine, {.ops_max = 120});
    scenario = random_scenario(random, graph);
  }

  // Of up to all nodes but one.
  std::vector<NodeLoss> random_losses(Duration until) {
    std::vector<NodeId> nodes;
    for (std::size_t n = 0; n < machine.nodes.size(); ++n) nodes.push_back(NodeId::at(n));
    std::vector<NodeLoss> losses;
    for (std::size_t count = 1 + random.below(nodes.size() - 1); count > 0; --count) {
      const auto lost = nodes.begin() + static_cast<std::ptrdiff_t>(random.below(nodes.size()));
      losses.push_back({*lost, Duration{static_cast<Duration::rep>(
                                   random.unit() * static_cast<double>(until.count()))}});
      nodes.erase(lost);
    }
    std::sort(losses.begin(), losses.end(),
              [](const NodeLoss& a, const NodeLoss& b) { return a.after < b.after; });
    return losses;
  }

  Report perform(RunOptions options) const {
    const std::vector<Scenario> scenarios{scenario};
    return Run(machine, graph, scenarios, std::move(options)).perform();
  }

  Random random;
  Machine machine;
  Graph graph;
  Scenario scenario;
};

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
