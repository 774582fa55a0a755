// Random graphs on random machines of several nodes, some of which are lost while actors run them:
// what is wanted is made all the same, and equals the serial execution bit for bit.
#include "actors/runner.hpp"
#include "core/trace/writers.hpp"
#include "tests/support/node_case.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(lost_nodes)
namespace {

using testing::NodeCase;
using testing::on;
using testing::seeds;
using testing::SmallGraph;
using testing::SmallMachine;

std::string json(const Report& report) {
  std::ostringstream out;
  write_report_json(report, out);
  return out.str();
}

void check_nothing_ends_on_lost(const Machine& machine, const std::vector<NodeLoss>& losses,
                                const Timeline& timeline) {
  for (const auto& [node, after] : losses) {
    const std::string own = machine.nodes[node.index()] + ".";
    for (const Span& span : timeline.spans) {
      if (!timeline.tracks[span.track].resource.starts_with(own)) continue;
      BOOST_TEST((span.end <= Instant{after}), timeline.name(span) << " ended on " << own);
    }
  }
}

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};
constexpr DeviceId dev2{2};

// n0, n1 and n2 with one device each. A FLOP takes 1 ns, and so does a byte on each link.
Machine three_nodes(std::uint64_t memory_bytes = 1 << 30) {
  SmallMachine part;
  part.device("dev", part.memory("mem", memory_bytes));
  Machine machine{.name = "three nodes", .devices = {}, .memories = {}, .links = {}};
  NodeJoiner joiner(machine);
  for (const char* name : {"n0", "n1", "n2"}) joiner.add_node(name, part.machine, MemoryId{0});
  joiner.add_network({.bandwidth = 1e9, .chunk_bytes = 4096});
  return machine;
}

// Nodes, and nanoseconds.
using Losses = std::vector<std::pair<std::uint32_t, int>>;

// The report of a simulation, which that of a rehearsal equals.
Report lose(const SmallGraph& g, const Losses& losses,
            RunOptions options = {.on_loss = OnLoss::replan},
            const Machine& machine = three_nodes(), const Scenario* scenario = nullptr) {
  for (const auto& [node, after] : losses) {
    options.losses.push_back({.node = NodeId{node}, .after = Duration{after}});
  }
  const std::vector<Scenario> scenarios{scenario != nullptr ? *scenario : g.everything()};
  options.mode = Mode::rehearse;
  const Report rehearsed = Run(machine, g.graph, scenarios, options).perform();
  BOOST_TEST((rehearsed.scenarios[0].verified == true), rehearsed.scenarios[0].mismatch);
  options.mode = Mode::simulate;
  Report simulated = Run(machine, g.graph, scenarios, options).perform();
  BOOST_TEST((simulated.scenarios[0].outcome == Outcome::done), simulated.scenarios[0].error);
  BOOST_TEST((simulated.scenarios[0].makespan == rehearsed.scenarios[0].makespan));
  return simulated;
}

std::int64_t makespan_ns(const Report& report) {
  return report.scenarios[0].makespan.count();
}

BOOST_AUTO_TEST_CASE(what_a_lost_node_has_under_way_ends_with_it_and_was_not_made) {
  SmallGraph g;
  g.work("a", 10, {}, on(dev0));
  g.work("b", 1000, {}, on(dev1));
  const Report report = lose(g, {{1, 100}});
  BOOST_TEST(makespan_ns(report) == 1100);
  BOOST_TEST(report.scenarios[0].ops == 2U);
  BOOST_TEST_REQUIRE(!report.notes.empty());
  BOOST_TEST(report.notes[0] ==
             "'everything': n1 was lost. Of the ops that had finished, 0 are made again; of the "
             "others, 1 is planned anew.");
}

BOOST_AUTO_TEST_CASE(what_other_nodes_have_under_way_finishes_unless_they_are_lost_meanwhile) {
  SmallGraph g;
  g.work("a", 1000, {}, on(dev0));
  g.work("b", 500, {}, on(dev1));
  g.work("c", 600, {}, on(dev2));
  const Report one_lost = lose(g, {{1, 100}});
  BOOST_TEST(makespan_ns(one_lost) == 1500);
  BOOST_TEST(one_lost.scenarios[0].ops == 3U);
  const Report both_lost = lose(g, {{1, 100}, {2, 200}});
  BOOST_TEST(makespan_ns(both_lost) == 2100);
  BOOST_TEST(both_lost.scenarios[0].ops == 3U);
}

BOOST_AUTO_TEST_CASE(a_loss_after_the_end_is_said_to_have_done_nothing) {
  SmallGraph g;
  g.work("a", 1000, {}, on(dev0));
  const Report report = lose(g, {{1, 100}, {2, 5000}});
  BOOST_TEST(makespan_ns(report) == 1000);
  BOOST_TEST_REQUIRE(!report.notes.empty());
  BOOST_TEST(report.notes.back() == "n2 was to be lost after 5 us, and no scenario took so long.");
  BOOST_TEST(std::ranges::count_if(report.notes, [](const std::string& note) {
               return note.starts_with("n1 was to be lost");
             }) == 0);
}

// x is made in 100 ns, and read on another node in 10 ns. It is moved in ten chunks.
SmallGraph read_elsewhere() {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev1), 40'960);
  g.work("y", 10, {x}, on(dev0));
  return g;
}

// Each link moves the third chunk when the loss comes.
BOOST_AUTO_TEST_CASE(a_transfer_from_or_to_a_lost_node_ends_on_both_sides) {
  const SmallGraph g = read_elsewhere();
  BOOST_TEST(makespan_ns(lose(g, {{1, 10'000}})) == 10'110);  // both are made on one node
  BOOST_TEST(makespan_ns(lose(g, {{0, 10'000}})) == 10'010);
}

BOOST_AUTO_TEST_CASE(a_transfer_between_other_nodes_begins_again_after_the_chunks_under_way) {
  const SmallGraph g = read_elsewhere();
  constexpr int chunks_under_way_end = 100 + 3 * 4096;
  BOOST_TEST(makespan_ns(lose(g, {{2, 10'000}})) == chunks_under_way_end + 40'960 + 4096 + 10);
}

BOOST_AUTO_TEST_CASE(another_node_takes_the_place_of_a_lost_one_so_long_after_the_loss) {
  const RunOptions wait{.on_loss = OnLoss::wait, .wait_max = Duration{7}};
  const auto says = [](const Report& report, const std::string& what) {
    return !report.notes.empty() && report.notes[0].find(what) != std::string::npos;
  };
  SmallGraph idle;
  idle.work("a", 10, {}, on(dev0));
  idle.work("b", 1000, {}, on(dev1));
  const Report one_lost = lose(idle, {{1, 55}}, wait);
  BOOST_TEST(makespan_ns(one_lost) == 62 + 1000);
  BOOST_TEST(says(one_lost, "n1 was lost, and replaced after 7 ns."));
  const Report both_lost = lose(idle, {{1, 50}, {2, 55}}, wait);
  BOOST_TEST(makespan_ns(both_lost) == 62 + 1000);
  BOOST_TEST(says(both_lost, "n1, n2 were lost, and replaced after 12 ns."));
  SmallGraph busy;
  busy.work("a", 100, {}, on(dev0));
  busy.work("b", 1000, {}, on(dev1));
  const Report waited_for = lose(busy, {{1, 55}}, wait);
  BOOST_TEST(makespan_ns(waited_for) == 100 + 1000);
  BOOST_TEST(says(waited_for, "n1 was lost, and replaced after 7 ns."));
}

// The tensors fill the memories of all nodes.
BOOST_AUTO_TEST_CASE(what_is_made_again_for_a_replacement_goes_where_it_was_and_fits_there) {
  SmallGraph g;
  for (const char* const name : {"a", "b", "c", "d", "e", "f"}) g.work(name, 100, {}, {}, 1000);
  const RunOptions wait{.on_loss = OnLoss::wait, .wait_max = Duration{7}};
  const Report report = lose(g, {{1, 150}}, wait, three_nodes(2500));
  BOOST_TEST(makespan_ns(report) == 200 + 200);
}

// n0, with one op left, would be as early as n1, with none, but is full.
BOOST_AUTO_TEST_CASE(what_was_lost_goes_to_those_that_have_room) {
  SmallGraph g;
  for (const char* const name : {"a", "b", "c", "d"}) g.work(name, 100, {}, on(dev0), 1000);
  for (const char* const name : {"e", "f"}) g.work(name, 100, {}, on(dev1), 1000);
  for (const char* const name : {"g", "h"}) g.work(name, 100, {}, on(dev2), 1000);
  BOOST_TEST(makespan_ns(lose(g, {{2, 250}}, {.on_loss = OnLoss::replan}, three_nodes(4500))) ==
             300 + 200);
}

// n1 is a thousand times faster than n0. Beside its copy of x, it has room for `g`, which needs no
// other one, and none for `h`, which would have been there, too.
BOOST_AUTO_TEST_CASE(copies_that_are_left_are_used_and_take_room_from_what_was_lost) {
  SmallMachine slow;
  slow.device("dev", slow.memory("mem"), 1, 1e6);
  SmallMachine small;
  small.device("dev", small.memory("mem", 21 << 10));
  Machine machine{.name = "uneven nodes", .devices = {}, .memories = {}, .links = {}};
  NodeJoiner joiner(machine);
  joiner.add_node("n0", slow.machine, MemoryId{0});
  joiner.add_node("n1", small.machine, MemoryId{0});
  joiner.add_node("n2", small.machine, MemoryId{0});
  joiner.add_network({.bandwidth = 1e9, .chunk_bytes = 4096});
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(dev0), 8 << 10);
  const OpId y = g.work("y", 1, {x}, on(dev1), 8 << 10);
  const OpId busy = g.work("busy", 100'000, {y}, on(dev1));
  g.work("h", 1000, {}, on(dev2), 8 << 10);
  g.work("g", 1000, {x}, on(dev2), 4 << 10);
  g.work("z", 1, {x, y, busy}, on(dev1));
  const Report report = lose(g, {{2, 60'000}}, {.on_loss = OnLoss::replan}, machine);
  BOOST_TEST(makespan_ns(report) > 1'000'000);
  BOOST_TEST(makespan_ns(report) < 1'900'000);
}

// n0 would be as early as n1. Its results are read, but not in this scenario.
BOOST_AUTO_TEST_CASE(results_that_are_kept_take_room_from_what_was_lost) {
  SmallGraph g;
  for (const char* const name : {"a", "b", "c", "d"}) g.work(name, 100, {}, on(dev0), 1000);
  for (const char* const name : {"g", "h"}) g.work(name, 100, {}, on(dev2), 1000);
  const Scenario scenario = g.scenario({"a", "b", "c", "d", "g", "h"});
  for (std::uint32_t i = 0; i < 4; ++i)
    g.work("reader" + std::to_string(i), 1, {OpId{i}}, on(dev0));
  const Report report =
      lose(g, {{2, 350}}, {.on_loss = OnLoss::replan}, three_nodes(4500), &scenario);
  BOOST_TEST(makespan_ns(report) == 400 + 200);
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
      check_nothing_ends_on_lost(c.machine, options.losses, simulated.scenarios[0].timeline);
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
          const bool is_apart = span.end <= Instant{after} || span.start >= Instant{after + wait};
          BOOST_TEST(is_apart, s.timeline.name(span) << " was under way on " << own);
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
