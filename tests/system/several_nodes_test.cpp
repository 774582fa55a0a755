// Runs on several nodes: processes of this host, with a leader and by address.
#include "tests/support/contains.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/run_workspace.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace troupe::testing;
namespace fs = std::filesystem;
using nlohmann::json;
using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(several_nodes)
namespace {

const std::string head = "machine: {discover: {}}\n";

// A workspace with a run file.
class Files : public RunWorkspace {
 public:
  explicit Files(const std::string& text) { write("run.yaml", head + text); }

  Finished run_on(std::vector<std::string> nodes) const {
    std::vector<std::string> arguments = {"run", "run.yaml", "--json", "report.json"};
    arguments.insert(arguments.end(), nodes.begin(), nodes.end());
    const Finished finished = run_troupe(arguments, options_in(*this));
    check_nothing_is_left(*this);
    return finished;
  }
  void check_verified_on(const std::vector<std::string>& nodes) const {
    const Finished finished = run_on(nodes);
    BOOST_TEST_INFO(finished.err);
    BOOST_REQUIRE(finished.exit_code == 0);
    const json made = report();
    for (const json& scenario : made["scenarios"]) BOOST_TEST(scenario["verified"] == true);
  }
};

// Tensors go to and fro: 16 of 4 MB, in several chunks each, and as many of 4 bytes.
const std::string to_and_fro =
    "tensors:\n"
    "  x: {op: uniform, shape: [1000, 1000], on: n0.cpu0}\n"
    "  s: {op: uniform, shape: [1], on: n1.cpu0}\n"
    "tasks:\n"
    "  big: {op: scale, in: [x], alpha: 2, repeat: 16, on: n0.cpu0}\n"
    "  there: {op: add, in: [big, x], on: n1.cpu0}\n"
    "  back: {op: sub, in: [there, x], on: n0.cpu0}\n"
    "  small: {op: scale, in: [s], alpha: 3, repeat: 16, on: n1.cpu0}\n"
    "  home: {op: add, in: [small, s], on: n0.cpu0}\n"
    "scenarios:\n"
    "  at once: [big, there, back, small, home]\n"
    "  in turns: [big, wait, there, wait, back, small, wait, home]\n";

// So long that it is under way when something happens to it.
const std::string long_run =
    "tensors: {x: {op: uniform, shape: [64, 64], on: n0.cpu0}}\n"
    "tasks:\n"
    "  nap: {op: sleep, duration: 20 ms, in: [x], repeat: 1000, on: n0.cpu0}\n"
    "  copy: {op: copy, in: [nap], to: n1.mem0}\n";
// So that often a tensor of several chunks is on its way: two in each step.
const std::string long_copies =
    "tasks:\n"
    "  y: {pattern: stencil_1d, width: 2, steps: 500, kernel: empty, output_bytes: 2 MB,\n"
    "      on: [n0.cpu0, n1.cpu0]}\n";
// A million seconds ahead of that of the host.
const std::vector<std::string> with_shifted_clock = {
    "unshare", "--user", "--map-root-user", "--time", "--monotonic=1000000", "--"};

boost::test_tools::assertion_result can_shift_clock(boost::unit_test::test_unit_id) {
  std::vector<std::string> command = with_shifted_clock;
  command.push_back("true");
  boost::test_tools::assertion_result result(Program(command).wait().exit_code == 0);
  result.message() << "this process may not have a clock of its own, not even in a namespace";
  return result;
}

const std::string anything = "tasks: {x: {op: uniform, shape: [4, 4]}}\n";

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_on_two_local_nodes_equals_a_serial_execution) {
  const Files files(to_and_fro);
  for (const char* transport : {"tcp", "shared-memory"}) {
    BOOST_TEST_CONTEXT(transport) {
      files.check_verified_on({"--local-nodes", "2", "--transport", transport});
    }
  }
  const json report = files.report();
  BOOST_TEST(report["scenarios"].size() == 2U);
  BOOST_TEST(report["scenarios"][0]["transfers"].get<int>() >= 2 * (16 + 1 + 16 + 16 + 1));
}

BOOST_AUTO_TEST_CASE(thousands_of_small_ops_on_two_nodes_equal_a_serial_execution) {
  const Files files(
      "tasks:\n"
      "  y: {pattern: stencil_1d, width: 4, steps: 300, kernel: empty, on: [n0.cpu0, n1.cpu0]}\n");
  files.check_verified_on({"--local-nodes", "2"});
}

// Nobody says anything for two seconds but that they are there.
BOOST_AUTO_TEST_CASE(a_node_keeps_a_leader_that_is_more_patient_than_it_is) {
  const Files files("tasks: {nap: {op: sleep, duration: 2 s, on: n0.cpu0}}\n");
  const RunWorkspace elsewhere;
  const NodeProcess a(elsewhere, {"--node-timeout", "1"});
  const NodeProcess b(elsewhere, {"--node-timeout", "1"});
  files.check_verified_on({"--nodes", a.address() + "," + b.address(), "--node-timeout", "30"});
}

BOOST_AUTO_TEST_CASE(a_local_node_that_is_suspended_is_gone_when_the_run_is) {
  const Files files(
      "tasks:\n"
      "  a: {op: sleep, duration: 20 ms, repeat: 40, on: n0.cpu0}\n"
      "  b: {op: sleep, duration: 20 ms, repeat: 40, on: n1.cpu0}\n");
  Program run(
      troupe_command({"run", "run.yaml", "--verbose", "--local-nodes", "2", "--node-timeout", "3"}),
      options_in(files));
  BOOST_REQUIRE(run.wait_until([&] { return contains(run.err(), "planned"); }));
  for (const pid_t process : processes_in(files.path())) {
    if (process == run.pid()) continue;
    kill(process, SIGSTOP);
    break;
  }
  const Finished finished = run.wait();
  BOOST_TEST(finished.exit_code == 0, finished.err);
  check_nothing_is_left(files);
}

BOOST_AUTO_TEST_CASE(a_run_on_three_local_nodes_equals_a_serial_execution) {
  const Files files(
      "tensors: {x: {op: uniform, shape: [300, 300], on: n0.cpu0}}\n"
      "tasks:\n"
      "  a: {op: scale, in: [x], alpha: 2, repeat: 8, on: n1.cpu0}\n"
      "  b: {op: matmul, in: [a, x], on: n2.cpu0}\n"
      "  c: {op: add, in: [b, a], on: n0.cpu0}\n");
  files.check_verified_on({"--local-nodes", "3"});
}

BOOST_AUTO_TEST_CASE(one_node_is_enough) {
  const Files files(
      "tensors: {x: {op: uniform, shape: [64, 64]}}\n"
      "tasks: {y: {op: matmul, in: [x, x], repeat: 3}}\n");
  files.check_verified_on({"--local-nodes", "1"});
}

BOOST_AUTO_TEST_CASE(a_run_file_that_names_no_nodes_runs_on_them) {
  const Files files(
      "tensors: {x: {op: uniform, shape: [256, 256]}}\n"
      "tasks:\n"
      "  a: {op: matmul, in: [x, x], repeat: 20}\n"
      "  b: {op: add, in: [a, x]}\n");
  files.check_verified_on({"--local-nodes", "2"});
}

BOOST_AUTO_TEST_CASE(a_machine_file_with_nodes_says_what_each_of_them_is) {
  const RunWorkspace workspace;
  workspace.write(
      "run.yaml",
      "machine:\n"
      "  nodes:\n"
      "    left: {devices: {a: {kind: cpu, memory: m}}, memories: {m: {size: 1 GiB}}}\n"
      "    right: {devices: {b: {kind: cpu, memory: m}}, memories: {m: {size: 1 GiB}}}\n"
      "  network: {bandwidth: 1 GB/s, latency: 50 us}\n"
      "tensors: {x: {op: uniform, shape: [64, 64], on: left.a}}\n"
      "tasks: {y: {op: scale, in: [x], alpha: 2, on: right.b}}\n");
  const Finished finished = workspace.run({"run", "run.yaml", "--local-nodes", "2"});
  BOOST_TEST_INFO(finished.err);
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(contains(finished.out, "right.b"));
  check_refused(workspace, {"run", "run.yaml", "--local-nodes", "3"}, "run.yaml:2",
                {"has 2 nodes", "gets 3"});
  check_refused(workspace, {"run", "run.yaml"}, "", {"has 2 nodes", "--local-nodes 2"});
  workspace.write("run.yaml",
                  "machine:\n"
                  "  nodes:\n"
                  "    n: {count: 2, devices: {a: {kind: cpu, memory: m, cores: [1000]}},\n"
                  "        memories: {m: {size: 1 GiB}}}\n"
                  "  network: {bandwidth: 1 GB/s, latency: 50 us}\n"
                  "tasks: {y: {op: uniform, shape: [4]}}\n");
  check_refused(workspace, {"run", "run.yaml"}, "", {"has 2 nodes", "--local-nodes 2"});
}

BOOST_AUTO_TEST_CASE(results_made_on_nodes_are_saved) {
  const std::string text =
      "tensors: {x: {op: uniform, shape: [700, 900], on: D}}\n"
      "tasks: {y: {op: scale, in: [x], alpha: 2, repeat: 2, on: D}}\n"
      "save: {y: \"FOLDER{i}.npy\"}\n";
  const auto with = [&](std::string device, const std::string& folder) {
    std::string changed = text;
    for (const auto& [from, to] :
         {std::pair("D"s, device), std::pair("D"s, device), std::pair("FOLDER"s, folder)}) {
      changed.replace(changed.find(from), from.size(), to);
    }
    return changed;
  };
  const Files files(with("n1.cpu0", "far"));
  files.check_verified_on({"--local-nodes", "2"});
  files.write("run.yaml", head + with("cpu0", "near"));
  BOOST_REQUIRE(files.run({"run", "run.yaml"}).exit_code == 0);
  for (const char* element : {"0.npy", "1.npy"}) {
    BOOST_TEST(
        (files.read(std::string("far") + element) == files.read(std::string("near") + element)));
  }
}

BOOST_AUTO_TEST_CASE(a_node_reads_files_of_tensors_itself) {
  const Files files(
      "tensors: {x: {file: x.npy, on: n1.cpu0}}\n"
      "tasks: {y: {op: scale, in: [x], alpha: 2, on: n0.cpu0}}\n");
  files.write("x.npy", npy_of("<f4", "(2, 2)", std::string(16, '\1')));
  files.check_verified_on({"--local-nodes", "2"});
}

BOOST_AUTO_TEST_CASE(nodes_that_listen_serve_one_run_after_the_other) {
  const Files files(to_and_fro);
  const RunWorkspace elsewhere;
  const NodeProcess a(elsewhere, {"--name", "n0"});
  const NodeProcess b(elsewhere);
  for (int i = 0; i < 3; ++i) files.check_verified_on({"--nodes", a.address() + "," + b.address()});
}

// As a container may have one, whose host and its other containers have another.
BOOST_AUTO_TEST_CASE(times_of_a_node_with_another_clock_on_the_same_host_are_those_of_the_leader,
                     *boost::unit_test::precondition(can_shift_clock)) {
  const Files files(to_and_fro);
  const RunWorkspace elsewhere;
  const NodeProcess a(elsewhere);
  const NodeProcess b(elsewhere, with_shifted_clock, "127.0.0.1:0", {});
  files.check_verified_on({"--nodes", a.address() + "," + b.address()});
  const json report = files.report();
  for (const json& scenario : report["scenarios"]) BOOST_TEST(scenario["makespan_s"] < 1e5);
}

BOOST_AUTO_TEST_CASE(a_node_works_for_one_leader_at_a_time) {
  const Files files(long_run);
  const Files second(long_run);
  const RunWorkspace elsewhere;
  const NodeProcess a(elsewhere);
  const NodeProcess b(elsewhere);
  const std::string both = a.address() + "," + b.address();
  Program first(troupe_command({"run", "run.yaml", "--verbose", "--nodes", both}),
                options_in(files));
  BOOST_REQUIRE(first.wait_until([&] { return contains(first.err(), "planned"); }));
  check_refused(second, {"run", "run.yaml", "--nodes", both},
                "node " + std::min(a.address(), b.address()), {"works for another leader"});
  first.send(SIGINT);
  BOOST_TEST(first.wait().exit_code == 1);
}

BOOST_AUTO_TEST_CASE(a_node_that_is_killed_or_suspended_ends_the_run_and_the_other_is_free) {
  for (const std::string& text : {long_run, long_copies}) {
    for (const int blow : {SIGKILL, SIGSTOP}) {
      BOOST_TEST_CONTEXT(text << "signal " << blow) {
        const Files files(text);
        const RunWorkspace elsewhere;
        const NodeProcess a(elsewhere);
        NodeProcess b(elsewhere);
        Program run(troupe_command({"run", "run.yaml", "--no-verify", "--verbose", "--node-timeout",
                                    "5", "--on-loss", "fail", "--json", "report.json", "--nodes",
                                    a.address() + "," + b.address()}),
                    options_in(files));
        wait_until_under_way(run);
        b.program().send(blow);
        const Finished finished = run.wait();
        b.program().send(SIGCONT);
        BOOST_TEST(finished.exit_code == 1);
        BOOST_TEST(contains(finished.err, fmt::format("node n1 ({})", b.address())));
        BOOST_TEST(contains(finished.err, "was lost"));
        BOOST_TEST(contains(finished.err, "; see what has become of it"));
        const Files next(anything);
        next.check_verified_on({"--nodes", a.address()});
        b.end();
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_interrupted_run_reports_what_has_finished_and_leaves_no_process) {
  const Files files(long_run);
  Program run(troupe_command(
                  {"run", "run.yaml", "--verbose", "--local-nodes", "2", "--json", "report.json"}),
              options_in(files));
  wait_until_under_way(run);
  run.send(SIGINT);
  const Finished finished = run.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "troupe: interrupted"));
  const json scenario = files.report()["scenarios"][0];
  BOOST_TEST(scenario["outcome"] == "interrupted");
  check_nothing_is_left(files);
}

BOOST_AUTO_TEST_CASE(an_interrupted_run_names_the_devices_that_it_leaves_at_work) {
  const Files files("tasks: {door: {op: gate, on: n1.cpu0}}\n");
  Program run(troupe_command({"run", "run.yaml", "--local-nodes", "2", "--json", "report.json",
                              "--ops", GATE_OPS_LIBRARY}),
              options_in(files));
  BOOST_REQUIRE(run.wait_until([&] { return fs::exists(files.path() / "waiting"); }));
  run.send(SIGINT);
  const Finished finished = run.wait();
  BOOST_TEST(finished.exit_code == 1);
  const json report = files.report();
  const std::string notes = report["notes"].dump();
  BOOST_TEST(contains(notes, "'all': n1.cpu0"), notes);
  BOOST_TEST(contains(notes, "had not ended its work 500 ms after the interrupt"), notes);
  check_nothing_is_left(files);
}

// Standard error is a file: the nodes write there when the leader is gone.
BOOST_AUTO_TEST_CASE(local_nodes_end_with_a_leader_that_is_killed_and_say_so) {
  const Files files(long_run);
  std::vector<std::string> command = {"sh", "-c", "exec \"$0\" \"$@\" 2>said.txt"};
  for (const std::string& word :
       troupe_command({"run", "run.yaml", "--verbose", "--local-nodes", "2"})) {
    command.push_back(word);
  }
  Program run(command, options_in(files));
  const auto said = [&](const char* words) { return contains(files.read("said.txt"), words); };
  BOOST_REQUIRE(run.wait_until([&] { return said("planned"); }));
  BOOST_TEST(processes_in(files.path()).size() == 3U);
  run.send(SIGKILL);
  run.wait();
  check_nothing_is_left(files);
  const bool have_said_so = said("troupe: lost the leader") || said("has started it is gone");
  BOOST_TEST(have_said_so, files.read("said.txt"));
}

// As in the background of a shell that runs a script.
BOOST_AUTO_TEST_CASE(local_nodes_end_with_a_leader_that_is_killed_before_it_is_connected) {
  const Files files(long_run);
  ProgramOptions options = options_in(files);
  options.ignored_signals = {SIGINT, SIGQUIT, SIGUSR2};
  Program run(troupe_command({"run", "run.yaml", "--local-nodes", "30"}), options);
  BOOST_REQUIRE(run.wait_until([&] { return processes_in(files.path()).size() > 3U; }));
  run.send(SIGKILL);
  run.wait();
  check_nothing_is_left(files);
}

BOOST_AUTO_TEST_CASE(a_node_says_what_it_lends) {
  const RunWorkspace elsewhere;
  NodeProcess node(elsewhere, {"--devices", "2", "--storage", "--no-gpus"});
  const std::string lines = node.program().out();
  BOOST_TEST(contains(lines, "\nlends cpu0 with "), lines);
  for (const char* word :
       {" core", ", cpu1 with ", ", mem0 with ", ", mem1 with ", ", disk with ", "B, no GPUs\n"}) {
    BOOST_TEST(contains(lines, word), lines);
  }
}

BOOST_AUTO_TEST_CASE(a_node_lends_its_cores_with_as_many_streams_as_it_is_told) {
  const Files files("tasks: {x: {op: spin, iterations: 1000, repeat: 8}}\n");
  const RunWorkspace elsewhere;
  NodeProcess node(elsewhere, {"--devices", "1", "--streams", "2"});
  const std::string lends = node.program().out();
  BOOST_TEST(contains(lends, " and 2 streams, mem0 with "), lends);
  files.check_verified_on({"--nodes", node.address()});
  BOOST_TEST(files.report()["scenarios"][0]["resources"][0]["lanes"] == 2);
}

BOOST_AUTO_TEST_CASE(a_node_for_one_leader_fails_if_that_is_killed) {
  for (const bool is_killed : {false, true}) {
    const Files files(is_killed ? long_run : anything);
    const RunWorkspace elsewhere;
    NodeProcess node(elsewhere, {"--once", "--name", "n0"});
    NodeProcess other(elsewhere, {"--once", "--name", "n1"});
    Program run(troupe_command({"run", "run.yaml", "--verbose", "--nodes",
                                node.address() + "," + other.address()}),
                options_in(files));
    if (is_killed) {
      wait_until_under_way(run);
      run.send(SIGKILL);
    }
    run.wait();
    const Finished ended = node.program().wait();
    BOOST_TEST(ended.exit_code == (is_killed ? 1 : 0));
    BOOST_TEST(ended.err.empty() == !is_killed, ended.err);
    BOOST_TEST(contains(ended.err, fmt::format("lost the leader (process {} on ", run.pid())) ==
               is_killed);
    node.end();
    other.end();
  }
}

BOOST_AUTO_TEST_CASE(nodes_whose_leader_is_killed_are_free_again) {
  const RunWorkspace elsewhere;
  NodeProcess a(elsewhere);
  NodeProcess b(elsewhere);
  const std::string both = a.address() + "," + b.address();
  for (const int after_ms : {0, 100, 200, 300, 400}) {
    const Files files(long_copies);
    Program run(troupe_command({"run", "run.yaml", "--verbose", "--nodes", both}),
                options_in(files));
    BOOST_REQUIRE(run.wait_until([&] { return contains(run.err(), "planned"); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    run.send(SIGKILL);
    run.wait();
    const Files next(to_and_fro);
    Finished finished;
    for (int i = 0; i < 100; ++i) {  // it takes a moment until the nodes know
      finished = next.run_on({"--nodes", both});
      if (!contains(finished.err, "works for another leader")) break;
    }
    BOOST_TEST_INFO(finished.err);
    BOOST_TEST(finished.exit_code == 0);
  }
  for (NodeProcess* const node : {&a, &b}) BOOST_TEST(contains(node->end(), "lost the leader"));
}

BOOST_AUTO_TEST_CASE(a_result_in_the_storage_of_a_node_is_compared_and_saved) {
  const RunWorkspace elsewhere;
  const NodeProcess a(elsewhere);
  const NodeProcess b(elsewhere, {"--storage", "--devices", "2", "--name", "far"});
  const Files files(
      "tensors: {x: {op: uniform, shape: [700, 900], on: n0.cpu0}}\n"
      "tasks:\n"
      "  y: {op: scale, in: [x], alpha: 2, on: far.cpu1}\n"
      "  z: {op: copy, in: [y], to: far.disk}\n"
      "save: {z: z.npy}\n");
  files.check_verified_on({"--nodes", a.address() + "," + b.address()});
  BOOST_TEST(files.read("z.npy").size() > 700 * 900 * 4U);
}

BOOST_AUTO_TEST_CASE(a_kernel_that_fails_on_a_node_ends_the_run) {
  const Files files(
      "tensors: {x: {op: uniform, shape: [4, 4], on: n0.cpu0}}\n"
      "tasks: {bad: {op: fail, in: [x], on: n1.cpu0}}\n");
  const Finished finished = files.run_on({"--local-nodes", "2"});
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "'bad' on n1.cpu0: it failed on purpose"));
}

// The other one has got a notice of each of 200 tensors by then, and is at work for 4 s.
BOOST_AUTO_TEST_CASE(a_failure_on_one_node_ends_the_work_that_waits_on_another) {
  const Files files(
      "tensors: {x: {op: uniform, shape: [4, 4], on: n0.cpu0}}\n"
      "tasks:\n"
      "  made: {op: scale, in: [x], alpha: 2, repeat: 200, on: n0.cpu0}\n"
      "  nap: {op: sleep, in: [made], duration: 20 ms, on: n1.cpu0}\n"
      "  later: {op: sleep, in: ['made[199]'], duration: 200 ms, on: n0.cpu0}\n"
      "  bad: {op: fail, in: [later], on: n0.cpu0}\n");
  const Finished finished = files.run_on({"--local-nodes", "2"});
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(files.report()["scenarios"][0]["ops"] < 300);
}

// No link takes what is on its way then. This test hangs if those that send it wait for that.
BOOST_AUTO_TEST_CASE(a_kernel_that_fails_while_large_tensors_are_on_their_way_ends_the_run) {
  const Files files(
      "tasks:\n"
      "  big: {pattern: stencil_1d_periodic, width: 6, steps: 60, kernel: spin, iterations: 300,\n"
      "        output_bytes: 1 MiB, on: [n0.cpu0, n1.cpu0, n2.cpu0]}\n"
      "  bad: {op: fail, on: n1.cpu0}\n"
      "scenarios: {both: [big, bad]}\n");
  for (const char* const transport : {"tcp", "shared-memory"}) {
    const Finished finished = files.run_on({"--local-nodes", "3", "--transport", transport});
    BOOST_TEST(finished.exit_code == 1);
    BOOST_TEST(contains(finished.err, "'bad' on n1.cpu0: it failed on purpose"));
  }
}

BOOST_AUTO_TEST_CASE(a_file_is_checked_against_the_nodes_and_nothing_runs) {
  const Files files(
      "tensors: {x: {op: uniform, shape: [4, 4], on: n0.cpu0}}\n"
      "tasks: {bad: {op: fail, in: [x], on: far.cpu1}}\n"
      "save: {bad: bad.npy}\n");
  const RunWorkspace elsewhere;
  const NodeProcess a(elsewhere);
  const NodeProcess b(elsewhere, {"--devices", "2", "--name", "far"});
  const std::string both = a.address() + "," + b.address();
  const auto before = files.snapshot();
  for (int i = 0; i < 2; ++i) {  // the nodes are free again
    const Finished finished = files.run({"validate", "run.yaml", "--nodes", both});
    BOOST_TEST_INFO(finished.err);
    BOOST_TEST(finished.exit_code == 0);
    BOOST_TEST(finished.out ==
               "run.yaml: a valid run file: 2 ops, 1 scenario\n"
               "  can run on 2 nodes with 3 devices\n");
  }
  BOOST_TEST((files.snapshot() == before));
  check_refused(files, {"validate", "run.yaml", "--local-nodes", "2"}, "run.yaml:3",
                {"no device 'far.cpu1'", "n1.cpu0"});
  check_nothing_is_left(files);
  files.write("run.yaml",
              "machine:\n"
              "  nodes: {n: {count: 2, machine: local}}\n"
              "  network: {bandwidth: 1 GB/s, rack: 1}\n" +
                  anything);
  check_refused(files, {"run", "run.yaml", "--local-nodes", "2"}, "run.yaml:3",
                {"the network has racks", "leave `rack` out"});
  files.write("machine.yaml", "devices: {a: {kind: cpu, memory: m}}\nmemories: {m: {}}\n");
  check_refused(files, {"validate", "machine.yaml", "--local-nodes", "2"}, "machine.yaml:1",
                {"a machine file, not a run file"});
}

BOOST_AUTO_TEST_CASE(nodes_that_can_not_be_used_are_refused) {
  const Files files("tasks: {x: {op: uniform, shape: [4, 4]}}\n");
  const RunWorkspace elsewhere;
  const NodeProcess a(elsewhere, {"--name", "left"});
  const NodeProcess b(elsewhere, {"--name", "left"});
  const auto refuse = [&](const std::string& nodes, const std::string& start,
                          const std::vector<std::string>& words) {
    for (const char* command : {"run", "validate"}) {
      check_refused(files, {command, "run.yaml", "--nodes", nodes}, start, words);
    }
  };
  refuse("somewhere", "'somewhere' is not the address of a node", {"HOST:PORT"});
  refuse("127.0.0.1:99999", "'127.0.0.1:99999' is not the address of a node",
         {"its port is beyond 65535", "HOST:PORT"});
  refuse("no.such.host.invalid:7420", "node no.such.host.invalid:7420: there is no host", {});
  refuse("127.0.0.1:1", "node 127.0.0.1:1: it can't be reached: Connection refused",
         {"troupe node"});
  refuse("[::1]:1", "node [::1]:1: it has no IPv4 address, and can't be reached: ", {"IPv4"});
  for (const std::string& list : {a.address() + ",", "," + a.address(), std::string(",")}) {
    refuse(list, "--nodes: ", {"an address too few", "HOST:PORT"});
  }
  refuse(a.address() + ", " + a.address(), "the node " + a.address() + " is given twice", {});
  refuse(a.address() + "," + b.address(), "two nodes have the name 'left'", {"--name"});
  check_refused(files, {"run", "run.yaml", "--nodes", a.address(), "--local-nodes", "2"}, "",
                {"--nodes"});
  check_refused(files, {"run", "run.yaml", "--local-nodes", "0"}, "", {"--local-nodes"});
  check_refused(files, {"run", "run.yaml", "--local-nodes", "2", "--transport", "pigeon"}, "",
                {"--transport", "pigeon"});
  files.write("run.yaml", head + "tasks: {x: {op: uniform, shape: [4, 4], on: cpu0}}\n");
  check_refused(files, {"run", "run.yaml", "--local-nodes", "2"}, "run.yaml:2",
                {"no device 'cpu0'", "n0.cpu0"});
}

BOOST_AUTO_TEST_CASE(a_node_that_can_not_listen_is_refused) {
  const RunWorkspace workspace;
  const NodeProcess a(workspace);
  check_refused(workspace, {"node", "--listen", a.address()}, "can't listen on " + a.address(),
                {"in use"});
  check_refused(workspace, {"node", "--listen", "192.0.2.1:0", "--trust-network"},
                "can't listen on 192.0.2.1:0", {"address"});
  check_refused(workspace, {"node", "--listen", "0.0.0.0:0"}, "'0.0.0.0' can be reached",
                {"neither encrypted nor authenticated", "--trust-network"});
  check_refused(workspace, {"node", "--listen", "0.0.0.0:0", "--trust-network"},
                "'0.0.0.0' is not the IPv4 address of a network interface", {"ip -4 address"});
  check_refused(workspace, {"node", "--listen", "7420"}, "'7420' is not the address", {});
  for (const char* name : {"a.b", "x y", "network", "-x", "9x"}) {
    check_refused(workspace, {"node", "--listen", "127.0.0.1:0", "--name", name},
                  fmt::format("'{}' can't be the name of a node", name), {});
  }
}

BOOST_AUTO_TEST_SUITE_END()
