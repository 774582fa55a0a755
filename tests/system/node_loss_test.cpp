// Nodes that are killed or suspended while a run uses them: what is missing is made by the others,
// or when others have taken their places.
#include "core/base/random.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"
#include "tests/support/silent_host.hpp"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace troupe::testing;
namespace fs = std::filesystem;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(node_loss)
namespace {

// Work on three nodes, each of which needs tensors of the one before it.
std::string chain(const std::string& slow_op, const std::string& node_of_it = "n1") {
  return "machine: {discover: {}}\n"
         "tensors: {x: {op: uniform, shape: [300, 300], on: n0.cpu0}}\n"
         "tasks:\n"
         "  a: {op: scale, in: [x], alpha: 2, repeat: 100, on: n0.cpu0}\n"
         "  nap: {op: " +
         slow_op + ", in: [a], on: " + node_of_it +
         ".cpu0}\n"
         "  b: {op: add, in: [a, x], on: n1.cpu0}\n"
         "  c: {op: mul, in: [b, a], on: n2.cpu0}\n"
         "  sum: {op: add, in: [c, a], on: n0.cpu0}\n"
         "save: {sum: 'sum-{i}.npy'}\n";
}
const std::string short_chain = chain("sleep, duration: 3 ms");
// It is under way until Nodes::open().
const std::string gated_chain = chain("gate");

struct Nodes {
  explicit Nodes(std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) {
      all.push_back(std::make_unique<NodeProcess>(elsewhere, with_gates({})));
    }
  }
  ~Nodes() {
    open();
    for (const auto& node : all) {
      if (node != nullptr) node->program().send(SIGCONT);
    }
    // They may say that the leader, which has given them up, is lost.
    for (const std::size_t n : struck) {
      if (all[n] != nullptr) all[n]->end();
    }
  }
  std::string addresses() const {
    std::string joined;
    for (const auto& node : all) joined += (joined.empty() ? "" : ",") + node->address();
    return joined;
  }
  void strike(std::size_t n, int signal) {
    all[n]->program().send(signal);
    struck.insert(n);
  }
  // Blocks until a gate has begun on one of them, since the last call.
  void wait_until_at_gate() {
    BOOST_REQUIRE(soon([&] { return fs::remove(elsewhere.path() / "waiting"); }));
  }
  void open() { elsewhere.write("open", ""); }
  // Another process, where the one that was killed has been.
  void start_again(std::size_t n, const std::vector<std::string>& options = {}) {
    const std::string address = all[n]->address();
    all[n].reset();
    struck.erase(n);
    all[n] = std::make_unique<NodeProcess>(elsewhere, std::vector<std::string>{}, address,
                                           with_gates(options));
  }
  static std::vector<std::string> with_gates(std::vector<std::string> options) {
    options.insert(options.end(), {"--ops", GATE_OPS_LIBRARY});
    return options;
  }

  RunWorkspace elsewhere;
  std::vector<std::unique_ptr<NodeProcess>> all;
  std::set<std::size_t> struck;
};

std::size_t count(const std::string& text, const std::string& words) {
  std::size_t times = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    ++times;
  }
  return times;
}

class Leader {
 public:
  Leader(const RunWorkspace& files, const Nodes& nodes, const std::vector<std::string>& more = {})
      : program_(command(nodes, more), options_in(files)) {
    files.write("open", "");  // for verification
    BOOST_REQUIRE(program_.wait_until([&] { return contains(program_.err(), "planned"); }));
  }
  void wait_until_under_way() { troupe::testing::wait_until_under_way(program_); }
  Finished wait() { return program_.wait(); }
  bool wait_until(const std::function<bool()>& condition) { return program_.wait_until(condition); }
  void send(int signal) { program_.send(signal); }
  // Blocks until it has said this at least so many times.
  void wait_until_said(const std::string& words, std::size_t times = 1) {
    BOOST_REQUIRE(program_.wait_until([&] { return count(program_.err(), words) >= times; }));
  }

 private:
  static std::vector<std::string> command(const Nodes& nodes,
                                          const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run",    "run.yaml",    "--verbose",
                                      "--json", "report.json", "--node-timeout",
                                      "5",      "--nodes",     nodes.addresses()};
    words = Nodes::with_gates(words);
    words.insert(words.end(), more.begin(), more.end());
    return troupe_command(words);
  }

  Program program_;
};

void pause(std::uint64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

void check_done(const RunWorkspace& files, const Finished& finished) {
  BOOST_TEST_INFO(finished.err);
  BOOST_TEST(finished.exit_code == 0);
  const json report = files.report();
  for (const json& scenario : report["scenarios"]) {
    BOOST_TEST(scenario["outcome"] == "done");
    BOOST_TEST(scenario["verified"] == true);
  }
}

}  // namespace

// At 8 moments of the run, some of them before its first op and after its last one.
BOOST_AUTO_TEST_CASE(a_run_goes_on_without_a_node_that_is_killed_or_suspended) {
  troupe::Random random(20);
  for (const char* const transport : {"tcp", "shared-memory"}) {
    for (int round = 0; round < 4; ++round) {
      const std::size_t struck = random.below(3);
      const std::uint64_t after = random.below(500);
      const int blow = round == 3 ? SIGSTOP : SIGKILL;
      BOOST_TEST_CONTEXT(transport << ", node " << struck << " after " << after << " ms, signal "
                                   << blow) {
        RunWorkspace files;
        files.write("run.yaml", short_chain);
        Nodes nodes(3);
        Leader leader(files, nodes, {"--transport", transport});
        pause(after);
        nodes.strike(struck, blow);
        const Finished finished = leader.wait();
        check_done(files, finished);
        for (int i = 0; i < 100; ++i) {
          BOOST_TEST(fs::exists(files.path() / fmt::format("sum-{}.npy", i)));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_with_the_last_of_three_nodes_and_says_which_were_lost) {
  RunWorkspace files;
  files.write("run.yaml", gated_chain);
  Nodes nodes(3);
  Leader leader(files, nodes);
  leader.wait_until_under_way();
  nodes.wait_until_at_gate();
  nodes.strike(1, SIGKILL);
  nodes.wait_until_at_gate();
  nodes.strike(0, SIGKILL);
  nodes.open();
  check_done(files, leader.wait());
  const std::string notes = files.report()["notes"].dump();
  BOOST_TEST(contains(notes, "n0, n1 were lost"), notes);
  BOOST_TEST(contains(notes, "planning and preparing anew took "), notes);
  BOOST_TEST(contains(notes, "what was made again kept the devices busy for "), notes);
}

BOOST_AUTO_TEST_CASE(what_a_lost_node_may_have_finished_is_not_said_to_have_been_unfinished) {
  RunWorkspace files;
  files.write("run.yaml",
              "machine: {discover: {}}\n"
              "tasks:\n"
              "  nap: {op: sleep, duration: 200 ms, repeat: 10, on: n0.cpu0}\n"
              "  lost: {op: sleep, duration: 200 ms, repeat: 10, on: n1.cpu0}\n");
  Nodes nodes(2);
  Leader leader(files, nodes);
  leader.wait_until_under_way();
  pause(100);
  nodes.strike(1, SIGKILL);
  check_done(files, leader.wait());
  const std::string notes = files.report()["notes"].dump();
  BOOST_TEST(contains(notes, "Of the ops that are known to have finished, 0 are made again;"),
             notes);
  BOOST_TEST(contains(notes, "Lost nodes may have finished up to 10 of these"), notes);
  BOOST_TEST(contains(notes, "busy for 0 s, or up to 2."), notes);
}

// x ─ nap: x is no op of the report, nor of those that are made again.
BOOST_AUTO_TEST_CASE(tensors_that_are_prepared_again_are_counted_apart_from_ops) {
  RunWorkspace files;
  files.write("run.yaml",
              "machine: {discover: {}}\n"
              "tensors: {x: {op: uniform, shape: [4, 4], on: n0.cpu0}}\n"
              "tasks: {nap: {op: gate, in: [x], on: n0.cpu0}}\n");
  Nodes nodes(2);
  Leader leader(files, nodes);
  nodes.wait_until_at_gate();
  nodes.strike(0, SIGKILL);
  nodes.open();
  check_done(files, leader.wait());
  const json report = files.report();
  const std::string notes = report["notes"].dump();
  BOOST_TEST(contains(notes, "finished, 0 are made again; of the others, 1 is planned anew."),
             notes);
  BOOST_TEST(contains(notes, "Of the tensors that were prepared before, 1 is made again, too."),
             notes);
  BOOST_TEST(report["scenarios"][0]["ops"] == 1);
}

BOOST_AUTO_TEST_CASE(scenarios_that_follow_run_on_the_nodes_that_are_left) {
  RunWorkspace files;
  files.write("run.yaml", chain("gate", "n2") +
                              "scenarios:\n"
                              "  first: [a, nap, b, c, sum]\n"
                              "  second: [a, nap, wait, b, c, sum]\n");
  Nodes nodes(3);
  Leader leader(files, nodes);
  leader.wait_until_under_way();
  nodes.strike(2, SIGKILL);
  nodes.open();
  check_done(files, leader.wait());
  const json report = files.report();
  std::size_t seen = 0;
  for (const json& use : report["scenarios"][1]["resources"]) {
    if (use["name"] != "n2.cpu0") continue;
    ++seen;
    BOOST_TEST(use["busy_s"] == 0);
  }
  BOOST_TEST(seen == 1U);
  BOOST_TEST(contains(report["notes"].dump(), "'second': n2 was lost; planned without it."));
  BOOST_TEST(!contains(report["notes"].dump(), "'second': planning and preparing anew"));
}

BOOST_AUTO_TEST_CASE(a_run_whose_nodes_are_all_lost_fails_and_reports_what_had_finished) {
  RunWorkspace files;
  files.write("run.yaml",
              "machine: {discover: {}}\n"
              "tensors: {x: {op: uniform, shape: [4, 4]}}\n"
              "tasks:\n"
              "  quick: {op: scale, in: [x], alpha: 2}\n"
              "  nap: {op: sleep, duration: 20 ms, in: [x], repeat: 3000}\n"
              "scenarios: {first: [quick], second: [nap]}\n"
              "save: {quick: first-is-done.npy}\n");
  Nodes nodes(3);
  Leader leader(files, nodes);
  leader.wait_until_said("'second' is under way");
  BOOST_TEST(fs::exists(files.path() / "first-is-done.npy"));
  for (std::size_t n = 0; n < 3; ++n) nodes.strike(n, SIGKILL);
  const Finished finished = leader.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err,
                      "n0, n1, n2 were lost, and no node is left; see what has become of "
                      "them, and start them again"),
             finished.err);
  const json report = files.report();
  const std::string notes = report["notes"].dump();
  BOOST_TEST(contains(notes, "n0, n1, n2 were lost, and no node is left"), notes);
  BOOST_TEST(contains(notes, "Lost nodes may have finished up to 3000 ops more"), notes);
  const json scenarios = report["scenarios"];
  BOOST_TEST(scenarios.size() == 2U);
  BOOST_TEST(scenarios[0]["outcome"] == "done");
  BOOST_TEST(scenarios[1]["outcome"] == "failed");
}

// left and third have no room for what right makes.
BOOST_AUTO_TEST_CASE(a_run_fails_if_no_node_that_is_left_has_room_for_what_was_lost) {
  RunWorkspace files;
  files.write("run.yaml",
              "machine:\n"
              "  nodes:\n"
              "    left: {devices: {a: {kind: cpu, memory: m}}, memories: {m: {size: 1 MB}}}\n"
              "    right: {devices: {b: {kind: cpu, memory: m}}, memories: {m: {size: 1 GB}}}\n"
              "    third: {devices: {c: {kind: cpu, memory: m}}, memories: {m: {size: 1 MB}}}\n"
              "  network: {bandwidth: 1 GB/s, latency: 50 us}\n"
              "tensors: {s: {op: uniform, shape: [4], on: left.a}}\n"
              "tasks:\n"
              "  small: {op: scale, in: [s], alpha: 2, on: left.a}\n"
              "  large: {op: uniform, shape: [600, 600], on: right.b}\n"
              "  nap: {op: sleep, duration: 20 ms, in: [large], repeat: 1000, on: right.b}\n");
  Nodes nodes(3);
  Leader leader(files, nodes);
  leader.wait_until_under_way();
  pause(2000);  // of 20 s, until the leader knows of `small`, too
  nodes.strike(1, SIGKILL);
  const Finished finished = leader.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err,
                      "right was lost, and what is missing can't be made: "
                      "run.yaml:10:"),
             finished.err);
  BOOST_TEST(contains(finished.err, "needs 1.44 MB in "), finished.err);
  const json scenario = files.report()["scenarios"][0];
  BOOST_TEST(scenario["outcome"] == "failed");
  BOOST_TEST(scenario["ops"] == 1);
}

BOOST_AUTO_TEST_CASE(a_run_waits_for_nodes_that_are_started_again_and_goes_on_with_all) {
  for (const char* const transport : {"tcp", "shared-memory"}) {
    BOOST_TEST_CONTEXT(transport) {
      RunWorkspace files;
      files.write("run.yaml", gated_chain);
      Nodes nodes(3);
      Leader leader(files, nodes, {"--transport", transport, "--on-loss", "wait"});
      leader.wait_until_under_way();
      nodes.strike(1, SIGKILL);
      leader.wait_until_said("was lost; waiting");
      nodes.start_again(1);
      leader.wait_until_said("has joined");
      nodes.strike(1, SIGKILL);
      nodes.strike(2, SIGKILL);
      leader.wait_until_said("was lost; waiting", 2);  // for the other one perhaps only then
      nodes.start_again(2);
      nodes.start_again(1);
      nodes.open();
      const Finished finished = leader.wait();
      check_done(files, finished);
      BOOST_TEST(contains(finished.err, "node n1 (" + nodes.all[1]->address() + ") has joined"));
      BOOST_TEST(contains(finished.err, "node n2 (" + nodes.all[2]->address() + ") has joined"));
      const json report = files.report();
      const std::string notes = report["notes"].dump();
      // In one note with n2 if n1 is lost again before the run has gone on.
      const bool is_noted = contains(notes, "n1 was lost, and replaced after") ||
                            contains(notes, "n1, n2 were lost, and replaced after");
      BOOST_TEST(is_noted, notes);
      for (const json& use : report["scenarios"][0]["resources"]) {
        if (use["name"] == "n1.cpu0") BOOST_TEST(use["busy_s"] > 0);
      }
      for (int i = 0; i < 100; ++i) {
        BOOST_TEST(fs::exists(files.path() / fmt::format("sum-{}.npy", i)));
      }
    }
  }
}

// It has lost its leader, and is as good as a new one.
BOOST_AUTO_TEST_CASE(a_run_that_waits_goes_on_with_a_node_that_was_suspended) {
  RunWorkspace files;
  files.write("run.yaml", gated_chain);
  Nodes nodes(3);
  Leader leader(files, nodes, {"--on-loss", "wait"});
  leader.wait_until_under_way();
  nodes.strike(1, SIGSTOP);
  leader.wait_until_said("was lost; waiting");
  nodes.strike(1, SIGCONT);
  nodes.open();
  check_done(files, leader.wait());
}

BOOST_AUTO_TEST_CASE(a_run_on_one_node_waits_for_the_one_that_takes_its_place) {
  RunWorkspace files;
  files.write("run.yaml",
              "machine: {discover: {}}\n"
              "tensors: {x: {op: uniform, shape: [300, 300], on: n0.cpu0}}\n"
              "tasks:\n"
              "  a: {op: scale, in: [x], alpha: 2, repeat: 100, on: n0.cpu0}\n"
              "  nap: {op: gate, in: [a], on: n0.cpu0}\n"
              "  sum: {op: add, in: [a, x], on: n0.cpu0}\n"
              "save: {sum: 'sum-{i}.npy'}\n");
  Nodes nodes(1);
  Leader leader(files, nodes, {"--on-loss", "wait"});
  leader.wait_until_under_way();
  nodes.strike(0, SIGKILL);
  leader.wait_until_said("was lost; waiting");
  nodes.start_again(0);
  nodes.open();
  check_done(files, leader.wait());
  BOOST_TEST(fs::exists(files.path() / "sum-99.npy"));
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_in_vain_fails_and_says_for_which_node) {
  RunWorkspace files;
  files.write("run.yaml", gated_chain);
  Nodes nodes(3);
  Leader leader(files, nodes, {"--on-loss", "wait:500ms"});
  leader.wait_until_under_way();
  nodes.strike(1, SIGKILL);
  const Finished finished = leader.wait();
  BOOST_TEST(finished.exit_code == 1);
  const std::string name = "node n1 (" + nodes.all[1]->address() + ")";
  BOOST_TEST(contains(finished.err, name + " was lost; waiting for another one there, for 500 ms"),
             finished.err);
  BOOST_TEST(
      contains(finished.err, name + " was lost, and no other one has taken its place in 500 ms"),
      finished.err);
  BOOST_TEST(contains(finished.err, "whether `troupe node` runs there"), finished.err);
  BOOST_TEST(contains(files.report()["notes"].dump(), "'all': n1 was lost."));
}

BOOST_AUTO_TEST_CASE(a_node_that_has_less_than_the_lost_one_does_not_take_its_place) {
  RunWorkspace files;
  files.write("run.yaml", gated_chain);
  Nodes nodes(3);
  Leader leader(files, nodes, {"--on-loss", "wait"});
  leader.wait_until_under_way();
  nodes.strike(1, SIGKILL);
  leader.wait_until_said("was lost; waiting");
  nodes.start_again(1, {"--memory-share", "0.01"});
  const Finished finished = leader.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "no other one has taken its place: mem0 has "), finished.err);
  BOOST_TEST(contains(finished.err, "start one with the same devices and as much memory"));
}

// The last attempt to get the node is cut short by the end of the waiting.
BOOST_AUTO_TEST_CASE(a_run_that_waits_in_vain_says_what_the_last_whole_attempt_has_met) {
  RunWorkspace files;
  files.write("run.yaml", gated_chain);
  const Certificates certificates;
  Nodes nodes(3);
  Leader leader(files, nodes, {"--on-loss", "wait:8s"});
  leader.wait_until_under_way();
  nodes.strike(1, SIGKILL);
  leader.wait_until_said("was lost; waiting");
  nodes.start_again(1, certificates.options());
  const Finished finished = leader.wait();
  BOOST_TEST(contains(nodes.all[1]->end(), "refused a connection from 127.0.0.1:"));
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "if it runs with --tls-cert, so must the leader"),
             finished.err);
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_ends_when_a_node_of_another_version_comes) {
  RunWorkspace files;
  files.write("run.yaml", gated_chain);
  Nodes nodes(3);
  Leader leader(files, nodes, {"--on-loss", "wait"});
  leader.wait_until_under_way();
  const std::string address = nodes.all[1]->address();
  nodes.all[1].reset();
  const SilentHost other(static_cast<std::uint16_t>(std::stoi(address.substr(10))));
  std::jthread answers([&] { other.say("troupe 0.0.7    "); });
  const Finished finished = leader.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "no other one has taken its place: it is of version 0.0.7"),
             finished.err);
}

// The node is lost before the first op begins, or between ops.
BOOST_AUTO_TEST_CASE(a_run_that_waits_for_a_node_can_be_interrupted) {
  for (const bool has_begun : {false, true}) {
    RunWorkspace files;
    files.write("run.yaml", gated_chain);
    Nodes nodes(3);
    Leader leader(files, nodes, {"--on-loss", "wait"});
    if (has_begun) leader.wait_until_under_way();
    nodes.strike(1, SIGKILL);
    leader.wait_until_said("was lost; waiting");
    leader.send(SIGINT);
    const Finished finished = leader.wait();
    BOOST_TEST(finished.exit_code == 1);
    BOOST_TEST(finished.err.ends_with("troupe: interrupted\n"), finished.err);
    BOOST_TEST(!contains(finished.err, "taken its place"), finished.err);
    BOOST_TEST(files.report()["scenarios"][0]["outcome"] == "interrupted");
  }
}

// Every op had finished, but results were lost with their node, and are not made again.
BOOST_AUTO_TEST_CASE(a_run_that_is_interrupted_while_lost_results_are_missing_is_not_done) {
  RunWorkspace files;
  files.write("run.yaml",
              "machine: {discover: {}}\n"
              "tensors: {x: {op: uniform, shape: [1000, 1000], on: n1.cpu0}}\n"
              "tasks: {a: {op: scale, in: [x], alpha: 2, repeat: 100, on: n1.cpu0}}\n"
              "save: {a: 'a-{i}.npy'}\n");
  Nodes nodes(2);
  Leader leader(files, nodes, {"--on-loss", "wait"});
  BOOST_REQUIRE(leader.wait_until([&] { return fs::exists(files.path() / "a-0.npy"); }));
  nodes.strike(1, SIGKILL);
  leader.wait_until_said("was lost; waiting");
  leader.send(SIGINT);
  const Finished finished = leader.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(finished.err.ends_with("troupe: interrupted\n"), finished.err);
  BOOST_TEST(files.report()["scenarios"][0]["outcome"] == "interrupted");
}

BOOST_AUTO_TEST_SUITE_END()
