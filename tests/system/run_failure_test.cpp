// Runs that fail, are interrupted or killed: what finished stays in the report, and nothing hangs.
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

using namespace troupe::testing;
namespace fs = std::filesystem;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(run_failure)
namespace {

// Checks what every failed run must give; `words` must all be in its one line of error.
void check_failed(const RunWorkspace& workspace, const Finished& finished,
                  const std::vector<std::string>& words) {
  BOOST_TEST_INFO(finished.err);
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
  BOOST_TEST(contains(finished.out, "failed"));
  const json report = workspace.report();
  // The scenarios after the one that failed are not begun.
  for (std::size_t i = 1; i < report["scenarios"].size(); ++i) {
    BOOST_TEST(report["scenarios"][i]["outcome"] == "not run");
    BOOST_TEST(report["scenarios"][i]["ops"] == 0);
    BOOST_TEST(report["scenarios"][i]["planned"].get<int>() > 0);
    BOOST_TEST(contains(finished.out, "not run"));
  }
  const json& scenario = report["scenarios"][0];
  BOOST_TEST(scenario["outcome"] == "failed");
  BOOST_TEST(scenario["verified"].is_null());
  for (const std::string& word : words) {
    BOOST_TEST(contains(finished.err, word),
               "\"" << finished.err << "\" has no \"" << word << "\" in it");
    BOOST_TEST(contains(scenario["error"].get<std::string>(), word));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_library_that_can_not_be_loaded_is_found_before_anything_runs) {
  const RunWorkspace workspace;
  workspace.write("libopenblas.so.0", "no library");
  workspace.write("product.yaml",
                  "machine: {discover: {}}\n"
                  "tasks:\n"
                  "  x: {op: uniform, shape: [4, 4]}\n"
                  "  y: {op: matmul, in: [x, x]}\n");
  ProgramOptions options = options_in(workspace);
  options.environment["LD_LIBRARY_PATH"] = workspace.path().string();
  for (const bool on_nodes : {false, true}) {
    std::vector<std::string> words = {"run", "product.yaml"};
    if (on_nodes) words.insert(words.end(), {"--local-nodes", "2"});
    const Finished finished = Program(troupe_command(words), options).wait();
    BOOST_TEST(finished.exit_code == 2, finished.err);
    BOOST_TEST(contains(finished.err, "'matmul' can't load what it needs: OpenBLAS can't be"));
    BOOST_TEST(finished.out == "");
  }
}

//   good[0..2] (cpu0) → bad (cpu1) → after (cpu0)
BOOST_AUTO_TEST_CASE(a_kernel_that_fails_ends_the_run_with_what_finished) {
  const RunWorkspace workspace;
  const Finished finished = workspace.run({"run", "kernel_fails.yaml", "--json", "report.json"});
  check_failed(workspace, finished, {"'bad' on cpu1", "failed on purpose"});
  const json scenario = workspace.report()["scenarios"][0];
  BOOST_TEST(scenario["ops"] == 3);
  BOOST_TEST(scenario["transfers"] == 3);
  BOOST_TEST(workspace.report()["scenarios"].size() == 2U);
  BOOST_TEST(contains(finished.out, "not reached: not run, 0 of 3 ops and transfers finished"));
  BOOST_TEST(scenario["planned"].get<int>() > 6);
}

BOOST_AUTO_TEST_CASE(storage_that_fills_up_ends_the_run_with_what_finished,
                     *boost::unit_test::precondition(can_mount)) {
  const RunWorkspace workspace;
  const auto command =
      with_tmpfs(workspace.path() / "store", "size=4m",
                 troupe_command({"run", "storage_fills.yaml", "--json", "report.json"}));
  const Finished finished = Program(command, workspace.options()).wait();
  check_failed(workspace, finished,
               {"'write[", "over ssd", "No space left on device", "free space"});
  const json scenario = workspace.report()["scenarios"][0];
  BOOST_TEST(scenario["transfers"].get<int>() >= 2);
}

BOOST_AUTO_TEST_CASE(a_file_size_limit_ends_the_run_with_what_finished) {
  const RunWorkspace workspace;
  ProgramOptions options = workspace.options();
  options.file_size_max = 512 << 10;
  const Finished finished =
      run_troupe({"run", "storage_fills.yaml", "--json", "report.json"}, options);
  check_failed(workspace, finished, {"'write[0]' over ssd", "File too large", "ulimit"});
  const json scenario = workspace.report()["scenarios"][0];
  BOOST_TEST(scenario["transfers"] == 1);
  BOOST_TEST(scenario["ops"].get<int>() >= 3);
  BOOST_TEST(workspace.store_folders() == 0U);
}

BOOST_AUTO_TEST_CASE(storage_that_disappears_ends_the_run_with_what_finished) {
  const RunWorkspace workspace;
  Program program(troupe_command({"run", "naps.yaml", "--json", "report.json"}),
                  workspace.options());
  BOOST_TEST(program.wait_until([&] { return workspace.tensor_files() >= 2; }));
  fs::rename(workspace.path() / "store", workspace.path() / "gone");
  const Finished finished = program.wait();
  check_failed(workspace, finished, {"'write[", "over ssd", "No such file", "removed"});
  BOOST_TEST(workspace.report()["scenarios"][0]["transfers"].get<int>() >= 1);
}

//   a (cpu0) → write (ssd), then wait until the storage has gone away
BOOST_AUTO_TEST_CASE(storage_that_disappears_before_results_are_compared_keeps_the_report) {
  const RunWorkspace workspace;
  workspace.write("late.yaml", machine_with_storage +
                                   "tasks:\n"
                                   "  a: {op: uniform, shape: [1000], on: cpu0}\n"
                                   "  w: {op: copy, in: a, to: disk}\n"
                                   "  door: {op: gate, on: cpu0}\n"
                                   "scenarios: {first: [a], second: [a, w, wait, door]}\n");
  Program program(
      troupe_command({"run", "late.yaml", "--json", "report.json", "--ops", GATE_OPS_LIBRARY}),
      workspace.options());
  BOOST_TEST(program.wait_until([&] { return workspace.tensor_files() >= 1; }));
  fs::rename(workspace.path() / "store", workspace.path() / "gone");
  workspace.write("open", "");
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 1);
  const json report = workspace.report();
  BOOST_REQUIRE(report["scenarios"].size() == 2U);
  BOOST_TEST(report["scenarios"][0]["verified"] == true);
  BOOST_TEST(report["scenarios"][1]["outcome"] == "failed");
  BOOST_TEST(report["scenarios"][1]["ops"].get<int>() >= 1);
  BOOST_TEST(!report["scenarios"][1]["error"].get<std::string>().empty());
}

BOOST_AUTO_TEST_CASE(an_interrupt_ends_a_run_and_keeps_what_finished) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const RunWorkspace workspace;
    Program program(troupe_command({"run", "naps.yaml", "--json", "report.json", "--trace", "t"}),
                    workspace.options());
    BOOST_TEST(program.wait_until([&] { return workspace.tensor_files() >= 2; }));
    program.send(signal);
    // Much less than the minute that it would take; the limit also bounds a hang.
    const Finished finished = program.wait();
    BOOST_TEST(finished.exit_code == 1);
    BOOST_TEST(finished.err == "troupe: interrupted\n");
    BOOST_TEST(contains(finished.out, "interrupted"));
    BOOST_TEST(workspace.report()["interrupted"] == true);
    const json scenario = workspace.report()["scenarios"].at(0);
    BOOST_TEST(scenario["outcome"] == "interrupted");
    BOOST_TEST(scenario["transfers"].get<int>() >= 1);
    BOOST_TEST(scenario["ops"].get<int>() >= 2);
    BOOST_TEST(scenario["ops"].get<int>() < 3000);
    BOOST_TEST(scenario["planned"] == 6000);
    BOOST_TEST(json::parse(workspace.read("t")).contains("traceEvents"));
    BOOST_TEST(workspace.store_folders() == 0U);
  }
}

// Nothing has happened by then: it is as if the program had never been started.
BOOST_AUTO_TEST_CASE(an_interrupt_while_loading_ends_the_program_at_once) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const RunWorkspace workspace;
    BOOST_REQUIRE(mkfifo((workspace.path() / "run.yaml").c_str(), 0600) == 0);
    workspace.write("report.json", "old");
    const std::string before = fmt::format("{}", fmt::join(workspace.files(), " "));
    ProgramOptions options = workspace.options();
    options.terminal = true;
    Program program(troupe_command({"run", "run.yaml", "--json", "report.json"}), options);
    BOOST_TEST(program.wait_until([&] { return contains(program.err(), "[ loading run.yaml"); }));
    program.send(signal);
    BOOST_TEST(program.wait().signal == signal);
    BOOST_TEST(workspace.read("report.json") == "old");
    BOOST_TEST(fmt::format("{}", fmt::join(workspace.files(), " ")) == before);
  }
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_planning_ends_the_program_at_once) {
  const RunWorkspace workspace;
  workspace.write("large.yaml",
                  "machine:\n"
                  "  devices: {cpu0: {kind: cpu, memory: host, flops: 1 GFLOP/s}}\n"
                  "  memories: {host: {size: 1 GiB}}\n"
                  "tasks:\n"
                  "  grid: {pattern: stencil_1d, width: 32, steps: 600000, kernel: spin, "
                  "iterations: 16, on: [cpu0]}\n");
  Program program(troupe_command({"simulate", "large.yaml", "--verbose", "--json", "report.json"}),
                  workspace.options());
  BOOST_TEST(program.wait_until([&] { return contains(program.err(), "loaded"); }));
  program.send(SIGINT);
  const Finished finished = program.wait();
  BOOST_TEST(finished.signal == SIGINT);
  BOOST_TEST(!contains(finished.err, "planned"));
  BOOST_TEST(!fs::exists(workspace.path() / "report.json"));
}

BOOST_AUTO_TEST_CASE(an_interrupt_ends_a_simulation_and_keeps_what_finished) {
  const RunWorkspace workspace;
  Program program(
      troupe_command({"simulate", "long_simulation.yaml", "--verbose", "--json", "report.json"}),
      workspace.options());
  // The last line before the simulation starts.
  BOOST_TEST(program.wait_until([&] { return contains(program.err(), "link wire"); }));
  program.send(SIGINT);
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(finished.err.ends_with("troupe: interrupted\n"));
  const json report = workspace.report();
  BOOST_TEST(report["interrupted"] == true);
  BOOST_REQUIRE(report["scenarios"].size() == 1U);
  for (const json& scenario : report["scenarios"]) {
    const bool has_begun = scenario["outcome"] != "not run";
    if (has_begun) BOOST_TEST(scenario["outcome"] == "interrupted");
    BOOST_TEST(scenario["planned"] == 40001);
    BOOST_TEST(scenario["ops"].get<int>() < 40001);
  }
}

BOOST_AUTO_TEST_CASE(a_program_that_was_killed_leaves_no_harm) {
  const RunWorkspace workspace;
  {
    Program program(troupe_command({"run", "naps.yaml", "--json", "report.json"}),
                    workspace.options());
    BOOST_TEST(program.wait_until([&] { return workspace.tensor_files() >= 2; }));
    program.send(SIGKILL);
    BOOST_TEST(program.wait().signal == SIGKILL);
  }
  BOOST_TEST(!fs::exists(workspace.path() / "report.json"));
  BOOST_TEST(workspace.store_folders() == 1U);  // nobody was left to remove it, until the next
  const Finished next = workspace.run({"run", "storage_fills.yaml", "--json", "report.json"});
  BOOST_TEST(next.exit_code == 0);
  BOOST_TEST(next.err == "");
  const json report = workspace.report();
  for (const json& scenario : report["scenarios"]) BOOST_TEST(scenario["verified"] == true);
  BOOST_TEST(workspace.store_folders() == 0U);
}

BOOST_AUTO_TEST_CASE(output_that_can_not_be_written_fails_and_the_other_outputs_are_there) {
  const std::string problem = "could not write all of '/dev/full': No space left on device";
  const RunWorkspace workspace;
  const Finished json_full =
      workspace.run({"run", "small.yaml", "--json", "/dev/full", "--trace", "trace.json"});
  BOOST_TEST(json_full.exit_code == 1);
  BOOST_TEST(contains(json_full.err, problem));
  BOOST_TEST(contains(json_full.out, "at once"));
  BOOST_TEST(json::parse(workspace.read("trace.json")).contains("traceEvents"));

  const Finished trace_full =
      workspace.run({"run", "small.yaml", "--trace", "/dev/full", "--json", "report.json"});
  BOOST_TEST(trace_full.exit_code == 1);
  BOOST_TEST(contains(trace_full.err, problem));
  BOOST_TEST(workspace.report()["scenarios"].size() == 2U);
}

BOOST_AUTO_TEST_CASE(standard_output_that_can_not_be_written_fails) {
  const RunWorkspace workspace;
  ProgramOptions options = workspace.options();
  options.out = "/dev/full";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run", "small.yaml", "--json", "report.json"},
        {"validate", "small.yaml"},
        {"machine"}}) {
    const Finished finished = run_troupe(arguments, options);
    BOOST_TEST(finished.exit_code == 1);
    BOOST_TEST(
        finished.err ==
        "troupe: could not write to standard output: No space left on device; free some space, or "
        "keep the reader of the pipe open\n");
  }
  BOOST_TEST(workspace.report()["scenarios"].size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
