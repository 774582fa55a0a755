// Random graphs on nodes that are in one process, under virtual time, and talk with each other as
// real ones do. Nodes die, stop for a while, can't reach each other, and are slow; messages are
// late, overtake each other, and come twice. The results equal the serial ones bit for bit.
#include "tests/support/virtual_nodes.hpp"

#include "actors/runner.hpp"
#include "core/result/checkpoint.hpp"
#include "core/trace/writers.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/node_case.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"
#include "tests/support/temporary_directory.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(virtual_nodes)
namespace {

using namespace std::chrono_literals;
using testing::NodeCase;
using testing::on;
using testing::seeds;
using testing::SmallGraph;
using testing::VirtualNodes;

constexpr Duration node_timeout = std::chrono::milliseconds(5);

// What befalls the nodes of a seed.
class Blows {
 public:
  // Up to `until`, from now on. At most so many blows are such that a node is lost. `again`: so may
  // be the one in its place.
  Blows(VirtualNodes& nodes, std::size_t count, Duration until, std::size_t losses_max, bool again)
      : nodes_(nodes), count_(count) {
    for (std::size_t n = 0; n < count; ++n) {
      Duration when = network().random_duration(until);
      if (one_in(4)) network().slow_down(n, 1 + 20 * network().random().unit());
      if (one_in(4)) nodes_.suspend(n, when, network().random_duration(node_timeout * 3 / 4));
      while (losses_max > 0 && one_in(2)) {
        --losses_max;
        lose(n, when);
        if (!again) break;
        when += network().random_duration(4 * node_timeout);
      }
    }
  }

 private:
  testing::VirtualNetwork& network() { return nodes_.network(); }
  std::uint64_t below(std::uint64_t bound) { return network().random().below(bound); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  void lose(std::size_t n, Duration when) {
    switch (below(4)) {
      case 0:
        return nodes_.kill(n, when, true);
      case 1:
        return nodes_.kill(n, when, false);
      case 2: {
        const Duration more = network().random_duration(4 * node_timeout);
        return nodes_.suspend(n, when, node_timeout * 5 / 4 + more);
      }
      default:
        return nodes_.disconnect(n, (n + 1 + below(count_ - 1)) % count_, when);
    }
  }

  VirtualNodes& nodes_;
  const std::size_t count_;
};

struct Performed {
  Report report;
  std::vector<bool> lost;         // nodes, by NodeId, when the last op had finished
  std::vector<std::string> news;  // what the user was told
};

// What becomes of the nodes.
enum class Fate : std::uint8_t { spared, left_alone, restarted };

// Runs the case of a seed. The report refers to the case.
Performed perform(const NodeCase& c, std::uint64_t seed, Fate fate) {
  const bool with_blows = fate != Fate::spared;
  const bool restarts = fate == Fate::restarted;
  const std::vector<Scenario> scenarios{c.scenario};
  const Report whole = Run(c.machine, c.graph, scenarios, {.mode = Mode::simulate}).perform();
  VirtualNodes nodes(
      seed, c.nodes, c.graph.kinds(),
      {.nodes = c.nodes.size(), .delay_max = with_blows ? node_timeout / 2 : Duration{0}},
      node_timeout);
  Performed performed;
  ClusterOptions options = nodes.options();
  options.on_news = [&](const std::string& news) { performed.news.push_back(news); };
  Cluster cluster(c.graph.kinds(), options);
  const Duration until = 2 * whole.scenarios[0].makespan + std::chrono::milliseconds(1);
  if (restarts) nodes.restart_within(2 * node_timeout);
  if (with_blows) Blows(nodes, c.nodes.size(), until, restarts ? 8 : c.nodes.size() - 1, restarts);
  auto phase = RunProgress::Phase::reserving;
  const auto on_progress = [&](const RunProgress& progress) {
    const bool is_next = std::exchange(phase, progress.phase) != progress.phase;
    if (is_next && phase == RunProgress::Phase::verifying) performed.lost = cluster.lost_nodes();
  };
  performed.report = Run(c.machine, c.graph, scenarios,
                         {.mode = Mode::rehearse,
                          .seed = seed,
                          .cluster = &cluster,
                          .on_loss = restarts ? OnLoss::wait : OnLoss::replan,
                          .on_progress = on_progress})
                         .perform();
  return performed;
}

void check_results(const Report& report) {
  const ScenarioReport& s = report.scenarios[0];
  BOOST_TEST((s.outcome == Outcome::done), s.error);
  BOOST_TEST((s.verified == true), s.mismatch);
}

// Whether a note of the report does.
bool names(const Report& report, const std::string& node) {
  return std::any_of(report.notes.begin(), report.notes.end(),
                     [&](const std::string& note) { return note.find(node) != std::string::npos; });
}

// When each op and transfer ran, and where.
std::string timeline(const Report& report) {
  std::ostringstream out;
  write_chrome_trace(report, out);
  return out.str();
}

BOOST_AUTO_TEST_CASE(nodes_that_nothing_befalls_make_the_serial_results) {
  for (std::uint64_t seed = 1; seed <= seeds(50); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const Performed performed = perform(NodeCase(seed), seed, Fate::spared);
      check_results(performed.report);
      BOOST_TEST(performed.report.notes.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(whatever_befalls_nodes_the_results_are_the_serial_ones) {
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= seeds(200); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const Performed performed = perform(NodeCase(seed), seed, Fate::left_alone);
      check_results(performed.report);
      for (std::size_t n = 0; n < performed.lost.size(); ++n) {
        if (!performed.lost[n]) continue;
        ++lost;
        BOOST_TEST(names(performed.report, "n" + std::to_string(n)), "n" << n << " was lost");
      }
    }
  }
  BOOST_TEST(lost > 0U);
}

BOOST_AUTO_TEST_CASE(whatever_befalls_nodes_that_are_restarted_the_results_are_the_serial_ones) {
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= seeds(100); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const Performed performed = perform(NodeCase(seed), seed, Fate::restarted);
      check_results(performed.report);
      for (const std::string& news : performed.news) {
        const bool has_joined = news.ends_with(" has joined");
        BOOST_TEST((has_joined || news.find(" was lost; waiting") != std::string::npos), news);
        const std::string node = news.substr(news.find(' ') + 1, 2);  // "node n1 (…) was lost"
        BOOST_TEST(names(performed.report, node), news);
        lost += has_joined ? 0 : 1;
      }
    }
  }
  BOOST_TEST(lost > 0U);
}

// Nodes that are cut off from each other, and when.
struct Cut {
  std::size_t a;
  std::size_t b;
  Duration when;
  bool is_host_gone = false;  // that of b: nobody hears of it any more
};

struct Outcomes {
  Report report;
  std::vector<bool> lost;
};

std::vector<Machine> three_machines() {
  testing::SmallMachine part;
  part.device("cpu", part.memory("mem"));
  return std::vector<Machine>(3, part.machine);
}

// Twelve ops of so many nanoseconds, each on the next of the first `devices` and of what the one
// before has made.
SmallGraph in_turns(std::uint32_t devices, double ns) {
  SmallGraph g;
  OpId last = g.work("op", ns, {}, on(DeviceId{0}));
  for (std::uint32_t i = 1; i < 12; ++i) {
    last = g.work("op" + std::to_string(i), ns, {last}, on(DeviceId{i % devices}));
  }
  return g;
}

// Three nodes work by turns, for 100 ms each, at what the one before has made. With `checkpoints`,
// n0 and n1 are cut off from each other when the leader begins to fetch what the first one takes,
// and checkpoints come every 150 ms.
Outcomes cut(const std::vector<Cut>& cuts, OnLoss on_loss = OnLoss::replan, std::uint64_t seed = 1,
             CheckpointFolder* checkpoints = nullptr) {
  const std::vector<Machine> machines = three_machines();
  const SmallGraph g = in_turns(3, 100'000'000);
  // The nodes notice before the leader does.
  VirtualNodes nodes(seed, machines, g.graph.kinds(), {.nodes = machines.size()}, 500ms);
  Cluster cluster(g.graph.kinds(), nodes.options());
  for (const auto& [a, b, when, is_host_gone] : cuts) {
    nodes.disconnect(a, b, when);
    if (is_host_gone) nodes.kill(b, when, false);
  }
  const std::vector<Scenario> scenarios{g.everything()};
  RunOptions options{.mode = Mode::rehearse, .cluster = &cluster, .on_loss = on_loss};
  bool has_cut = false;
  if (checkpoints != nullptr) {
    options.checkpoints = checkpoints;
    options.checkpoint_interval = 150ms;
    options.on_progress = [&](const RunProgress& progress) {
      if (has_cut || progress.phase != RunProgress::Phase::checkpointing) return;
      has_cut = true;
      nodes.disconnect(0, 1, Duration{0});
    };
  }
  Report report = Run(cluster.machine(), g.graph, scenarios, options).perform();
  BOOST_TEST(has_cut == (checkpoints != nullptr));
  return {.report = std::move(report), .lost = cluster.lost_nodes()};
}

BOOST_AUTO_TEST_CASE(nodes_that_are_cut_off_from_each_other_once_are_connected_anew) {
  const auto [report, lost] = cut({{0, 1, 150ms}, {1, 2, 650ms}});
  check_results(report);
  BOOST_TEST((lost == std::vector<bool>{false, false, false}));
  BOOST_TEST_REQUIRE(report.notes.size() >= 2U);
  for (const std::string& note : report.notes) {
    BOOST_TEST(note.find(" was lost") == std::string::npos, note);
  }
  BOOST_TEST(names(report, "could not reach node n"));
  BOOST_TEST(names(report, "they were connected anew"));
}

BOOST_AUTO_TEST_CASE(of_two_nodes_that_are_cut_off_again_one_is_lost) {
  const auto [report, lost] = cut({{0, 1, 150ms}, {0, 1, 650ms}});
  check_results(report);
  BOOST_TEST(!lost[2]);
  BOOST_TEST(lost[0] != lost[1]);
  BOOST_TEST(names(report, lost[0] ? "n0 was lost" : "n1 was lost"));
}

BOOST_AUTO_TEST_CASE(a_node_that_is_cut_off_from_more_others_is_the_one_that_is_lost) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {  // either may be the first to say so
    const auto [report, lost] =
        cut({{1, 2, 150ms}, {0, 1, 500ms}, {0, 1, 850ms}}, OnLoss::replan, seed);
    check_results(report);
    BOOST_TEST((lost == std::vector<bool>{false, true, false}));
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_is_cut_off_from_all_others_at_once_is_the_one_that_is_lost) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto [report, lost] =
        cut({{1, 0, 150ms}, {1, 2, 150ms}, {1, 0, 650ms}, {1, 2, 650ms}}, OnLoss::replan, seed);
    check_results(report);
    BOOST_TEST((lost == std::vector<bool>{false, true, false}));
  }
}

// As the nodes get ready, during each op, and when all is done, too.
BOOST_AUTO_TEST_CASE(nodes_may_be_cut_off_at_any_moment) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const std::chrono::microseconds when(seed * seed * 900);  // the run takes 1.2 s
      const auto [report, lost] = cut({{0, 1, when}}, OnLoss::replan, seed);
      check_results(report);
      BOOST_TEST((lost == std::vector<bool>{false, false, false}));
    }
  }
}

BOOST_AUTO_TEST_CASE(nodes_may_be_cut_off_while_a_checkpoint_is_written) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const testing::TemporaryDirectory folder;
      std::filesystem::create_directory(folder.path() / "kept");
      CheckpointFolder checkpoints(folder.path() / "kept", "a run");
      const auto [report, lost] = cut({}, OnLoss::replan, seed, &checkpoints);
      check_results(report);
      BOOST_TEST((lost == std::vector<bool>{false, false, false}));
      BOOST_TEST(names(report, "could not reach node n"));
      BOOST_TEST(names(report, "checkpoint"));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_is_to_fail_names_the_nodes_that_were_cut_off) {
  const auto [report, lost] = cut({{0, 1, 150ms}}, OnLoss::fail);
  const std::string& error = report.scenarios[0].error;
  BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
  BOOST_TEST(error.find("could not reach node n") != std::string::npos, error);
  BOOST_TEST((lost == std::vector<bool>{false, false, false}));
}

BOOST_AUTO_TEST_CASE(a_node_that_others_do_not_reach_is_lost_if_the_leader_does_not_either) {
  const auto [report, lost] = cut({{0, 1, 150ms, true}}, OnLoss::fail);
  const std::string& error = report.scenarios[0].error;
  BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
  BOOST_TEST(error.find("node n1") == 0U, error);
  BOOST_TEST(error.find(" was lost") != std::string::npos, error);
  BOOST_TEST((lost == std::vector<bool>{false, true, false}));
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_for_nodes_needs_no_others_for_those_that_were_cut_off) {
  const auto [report, lost] = cut({{0, 1, 150ms}}, OnLoss::wait);
  check_results(report);
  BOOST_TEST(names(report, "they were connected anew"));
}

// At many moments of a run of 12 ms. The others close their connections, too: what is under way
// between them does not arrive.
BOOST_AUTO_TEST_CASE(a_node_that_has_nothing_to_do_may_be_lost_at_any_moment) {
  const std::vector<Machine> machines = three_machines();
  const SmallGraph g = in_turns(2, 1'000'000);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      VirtualNodes nodes(seed, machines, g.graph.kinds(), {.nodes = machines.size()}, 500ms);
      Cluster cluster(g.graph.kinds(), nodes.options());
      bool is_killed = false;
      RunOptions options{.mode = Mode::rehearse, .cluster = &cluster, .on_loss = OnLoss::replan};
      options.on_progress = [&](const RunProgress& progress) {
        if (progress.phase != RunProgress::Phase::reserving || is_killed) return;
        is_killed = true;
        nodes.kill(2, std::chrono::microseconds(200 * seed), true);
      };
      const std::vector<Scenario> scenarios{g.everything()};
      check_results(Run(cluster.machine(), g.graph, scenarios, options).perform());
      BOOST_TEST((cluster.lost_nodes() == std::vector<bool>{false, false, true}));
    }
  }
}

// With exit code 1, as after the first one: JSON and the traces are written.
BOOST_AUTO_TEST_CASE(a_run_whose_node_is_lost_before_its_first_scenario_has_a_report) {
  const NodeCase c(1);
  for (const bool are_all : {false, true}) {
    VirtualNodes nodes(1, c.nodes, c.graph.kinds(), {.nodes = c.nodes.size()}, node_timeout);
    Cluster cluster(c.graph.kinds(), nodes.options());
    RunOptions options{.mode = Mode::rehearse, .cluster = &cluster};
    options.on_loss = are_all ? OnLoss::replan : OnLoss::fail;
    options.on_progress = [&](const RunProgress& progress) {
      if (progress.phase != RunProgress::Phase::reserving) return;
      for (std::size_t n = 0; n < (are_all ? c.nodes.size() : 1); ++n) {
        nodes.kill(n, Duration{0}, true);
      }
    };
    const std::vector<Scenario> scenarios{c.scenario, c.scenario};
    const Report report = Run(c.machine, c.graph, scenarios, options).perform();
    BOOST_REQUIRE(report.scenarios.size() == 2U);
    BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
    BOOST_TEST(report.scenarios[0].error.find("n0") != std::string::npos);
    BOOST_TEST((report.scenarios[1].outcome == Outcome::not_run));
  }
}

BOOST_AUTO_TEST_CASE(what_was_saved_is_not_made_again_for_a_node_that_is_lost_as_files_are_saved) {
  const testing::TemporaryDirectory folder;
  testing::SmallMachine part;
  part.device("cpu", part.memory("mem"));
  SmallGraph g;
  std::vector<SavedFile> saves;
  for (std::uint32_t i = 0; i < 6; ++i) {  // n0 makes 0, 2 and 4
    const OpId op = g.work("op" + std::to_string(i), 1'000'000, {}, on(DeviceId{i % 2}));
    saves.push_back({.path = folder.path() / fmt::format("{}.npy", i), .ops = {op}});
  }
  VirtualNodes nodes(1, {part.machine, part.machine}, g.graph.kinds(), {.nodes = 2}, node_timeout);
  Cluster cluster(g.graph.kinds(), nodes.options());
  RunOptions options{
      .mode = Mode::rehearse, .saves = saves, .cluster = &cluster, .on_loss = OnLoss::replan};
  bool is_killed = false;
  options.on_progress = [&](const RunProgress& progress) {
    if (is_killed || progress.phase != RunProgress::Phase::saving || progress.done < 3) return;
    is_killed = true;
    nodes.kill(0, Duration{0}, true);
  };
  const std::vector<Scenario> scenarios{g.everything()};
  const Report report = Run(cluster.machine(), g.graph, scenarios, options).perform();
  check_results(report);
  BOOST_TEST(is_killed);
  BOOST_TEST(names(report, "Of the ops that had finished, 1 is made again"));
  BOOST_TEST(folder.entries() == saves.size());
}

// The leader has it open, and no node finds it any more.
BOOST_AUTO_TEST_CASE(a_file_that_a_node_does_not_have_is_named_before_the_run) {
  const testing::TemporaryDirectory folder;
  folder.write("x.npy", testing::npy_of("<f8", "(2,)", std::string(16, '\0')));
  testing::SmallMachine part;
  part.device("cpu", part.memory("mem"));
  SmallGraph g;
  const auto load = [&](const std::string& op, std::uint32_t device) {
    const FileTensor x = open_tensor(folder.path() / "x.npy");
    g.op(op, "load", {}, on(DeviceId{device}), {{"values", x.values}}, x.type);
  };
  load("x", 0);
  VirtualNodes nodes(1, {part.machine, part.machine}, g.graph.kinds(), {.nodes = 2}, node_timeout);
  Cluster cluster(g.graph.kinds(), nodes.options());
  const auto plan = [&] {
    const std::vector<Scenario> scenarios{g.everything()};
    const Run run(cluster.machine(), g.graph, scenarios,
                  {.mode = Mode::rehearse, .cluster = &cluster});
  };
  plan();
  load("y", 1);
  std::filesystem::remove(folder.path() / "x.npy");
  testing::expect_error(ErrorKind::usage, "node n0 ", plan);
  testing::expect_error(ErrorKind::usage, "x.npy': there is no such file", plan);
}

BOOST_AUTO_TEST_CASE(a_run_that_gets_no_further_as_a_node_is_lost_again_and_again_gives_up) {
  const NodeCase c(1);
  VirtualNodes nodes(1, c.nodes, c.graph.kinds(), {.nodes = c.nodes.size()}, node_timeout);
  nodes.restart_within(Duration{0});
  Cluster cluster(c.graph.kinds(), nodes.options());
  for (int i = 1; i < 400; ++i) nodes.kill(0, i * std::chrono::microseconds(250), true);
  const std::vector<Scenario> scenarios{c.scenario};
  const Report report = Run(c.machine, c.graph, scenarios,
                            {.mode = Mode::rehearse, .cluster = &cluster, .on_loss = OnLoss::wait})
                            .perform();
  const std::string& error = report.scenarios[0].error;
  BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
  BOOST_TEST(error.find("n0 was lost, and nodes that were lost 11 times") == 0U, error);
}

BOOST_AUTO_TEST_CASE(a_seed_replays_what_befell_the_nodes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const NodeCase c(seed);
      const Fate fate = seed % 2 == 0 ? Fate::left_alone : Fate::restarted;
      const Performed first = perform(c, seed, fate);
      const Performed again = perform(c, seed, fate);
      BOOST_TEST(first.report.notes == again.report.notes, boost::test_tools::per_element());
      BOOST_TEST((timeline(first.report) == timeline(again.report)));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
