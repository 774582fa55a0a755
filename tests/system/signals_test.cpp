// Signals: which of them end a run in good order, and that none leaves files behind.
#include "tests/support/contains.hpp"
#include "tests/support/data_bytes.hpp"
#include "tests/support/run_workspace.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace troupe::testing;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(signals)
namespace {

// A tensor is in storage, and then nothing happens for a minute.
void write_long_nap(const RunWorkspace& stage) {
  stage.write("long.yaml", machine_with_storage +
                               "tasks:\n"
                               "  a: {op: uniform, shape: [1000], on: cpu0}\n"
                               "  w: {op: copy, in: a, to: disk}\n"
                               "  nap: {op: sleep, duration: 60 s, on: cpu0}\n"
                               "scenarios: {all: [a, w, wait, nap]}\n");
}

// Sends `signals`, which differ, while it naps, all at once; the signal that ended the program.
int ended_by(const std::vector<int>& signals) {
  const RunWorkspace stage;
  write_long_nap(stage);
  stage.write("report.json", "old");
  const std::vector<std::string> before = stage.files();
  Program program(
      troupe_command({"run", "long.yaml", "--json", "report.json", "--trace", "new.json"}),
      stage.options());
  BOOST_TEST(program.wait_until([&] { return stage.tensor_files() >= 1; }));
  program.send(SIGSTOP);
  for (const int signal : signals) program.send(signal);
  program.send(SIGCONT);
  const Finished finished = program.wait();
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(stage.store_folders() == 0U);
  std::vector<std::string> after = stage.files();
  std::erase_if(after, [](const std::string& name) { return name.starts_with("core"); });
  BOOST_TEST(after == before, boost::test_tools::per_element());
  BOOST_TEST(stage.read("report.json") == "old");
  return finished.signal;
}

//   a ─┬─ nap, which doesn't end, `naps` times
//      └─ pause ── w, which brings a tensor to storage when the naps have long begun
void write_endless_nap(const RunWorkspace& stage, int streams, int naps) {
  stage.write("endless.yaml",
              fmt::format("machine:\n"
                          "  devices:\n"
                          "    cpu0: {{kind: cpu, memory: host, streams: {}}}\n"
                          "    cpu1: {{kind: cpu, memory: host}}\n"
                          "  memories:\n"
                          "    host: {{size: 1 GiB}}\n"
                          "    disk: {{kind: storage, directory: store}}\n"
                          "  links: {{ssd: {{between: [host, disk], bandwidth: 1 GB/s}}}}\n"
                          "tasks:\n"
                          "  a: {{op: uniform, shape: [1000], on: cpu0}}\n"
                          "  nap: {{op: sleep, in: a, duration: 1000 s, on: cpu0{}}}\n"
                          "  pause: {{op: sleep, in: a, duration: 3 s, on: cpu1}}\n"
                          "  w: {{op: copy, in: pause, to: disk}}\n"
                          "scenarios: {{endless: [a, nap, pause, w]}}\n",
                          streams, naps > 1 ? fmt::format(", repeat: {}", naps) : ""));
}

// Sends the signal once the tensor is there.
Finished interrupted_by(int signal, const RunWorkspace& stage) {
  Program program(
      troupe_command({"run", "endless.yaml", "--json", "report.json", "--trace", "trace.json"}),
      stage.options());
  BOOST_TEST(program.wait_until([&] { return stage.tensor_files() >= 1; }));
  program.send(signal);
  return program.wait();
}

void expect_left(const RunWorkspace& stage, const Finished& finished, const std::string& left) {
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(finished.err == "troupe: interrupted\n");
  BOOST_TEST(contains(finished.out, "still under way"), finished.out);
  const json report = stage.report();
  BOOST_TEST(report["interrupted"] == true);
  BOOST_TEST_REQUIRE(report["notes"].size() == 1U);
  const std::string note = report["notes"][0];
  BOOST_TEST(contains(note, "still under way 500 ms after the interrupt"), note);
  BOOST_TEST(contains(note, left), note);
  BOOST_TEST(report["scenarios"][0]["outcome"] == "interrupted");
  BOOST_TEST(report["scenarios"][0]["ops"].get<int>() >= 2);  // the transfer may be under way
  BOOST_TEST(json::parse(stage.read("trace.json")).contains("traceEvents"));
  BOOST_TEST(stage.store_folders() == 0U);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_second_interrupt_ends_the_program_at_once_and_leaves_nothing_behind) {
  const int signal = ended_by({SIGINT, SIGTERM});
  BOOST_TEST((signal == SIGINT || signal == SIGTERM));
}

// Ops finish, and one that takes 1,000 s is under way in the device's own thread.
BOOST_AUTO_TEST_CASE(an_interrupted_run_ends_without_the_op_that_is_under_way_and_names_it) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const RunWorkspace stage;
    write_endless_nap(stage, 1, 1);
    const Finished finished = interrupted_by(signal, stage);
    expect_left(stage, finished, "'nap' on cpu0");
  }
}

// As before, but the ops are under way in threads of the device's streams.
BOOST_AUTO_TEST_CASE(ops_that_an_interrupted_run_leaves_on_several_streams_are_counted) {
  const RunWorkspace stage;
  write_endless_nap(stage, 5, 4);
  const Finished finished = interrupted_by(SIGTERM, stage);
  expect_left(stage, finished, "'nap[0]' on cpu0, 'nap[1]' on cpu0, 'nap[2]' on cpu0 and ");
}

// x is read, by the second task, when it has been cut.
BOOST_AUTO_TEST_CASE(an_input_that_becomes_shorter_during_the_run_ends_it_with_a_line) {
  const RunWorkspace stage;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,)}";
  header.resize(117, ' ');  // such that it is mapped
  stage.write("x.npy", npy_bytes(header + "\n", std::string(4'000'000, '\0')));
  stage.write("cut.yaml", machine_with_storage +
                              "tensors: {x: {file: x.npy, on: cpu0}}\n"
                              "tasks:\n"
                              "  a: {op: uniform, shape: [1000], on: cpu0}\n"
                              "  w: {op: copy, in: a, to: disk}\n"
                              "  door: {op: gate, in: a, on: cpu0}\n"
                              "  y: {op: relu, in: x, on: cpu0}\n"
                              "scenarios: {all: [a, w, wait, door, wait, y]}\n");
  Program program(troupe_command({"run", "cut.yaml", "--ops", GATE_OPS_LIBRARY}), stage.options());
  BOOST_TEST(program.wait_until([&] { return stage.tensor_files() >= 1; }));
  std::filesystem::resize_file(stage.path() / "x.npy", 128);
  stage.write("open", "");
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "troupe: a mapped file has become shorter"), finished.err);
  BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1, finished.err);
  BOOST_TEST(stage.store_folders() == 0U);
}

// The trace goes to a pipe that nobody empties.
BOOST_AUTO_TEST_CASE(an_interrupt_ends_the_program_while_it_waits_to_write_a_report) {
  const RunWorkspace stage;
  stage.write("many.yaml",
              "machine:\n"
              "  devices: {cpu0: {kind: cpu, memory: host}}\n"
              "  memories: {host: {size: 1 GiB}}\n"
              "tasks: {nap: {op: sleep, duration: 1 ms, repeat: 10000, on: cpu0}}\n");
  const std::string pipe = stage.path() / "trace";
  BOOST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  BOOST_REQUIRE(reader >= 0);
  const std::vector<std::string> before = stage.files();
  Program program(troupe_command({"simulate", "many.yaml", "--trace", "trace"}), stage.options());
  pollfd has_begun{.fd = reader, .events = POLLIN, .revents = 0};
  BOOST_TEST(program.wait_until([&] { return poll(&has_begun, 1, 0) == 1; }));
  program.send(SIGTERM);
  const Finished finished = program.wait();
  close(reader);
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(finished.signal == SIGTERM);
  BOOST_TEST(stage.files() == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(other_signals_end_the_program_at_once_and_leave_nothing_behind) {
  for (const int signal : {SIGQUIT, SIGUSR1, SIGUSR2}) BOOST_TEST(ended_by({signal}) == signal);
}

// As nohup does.
BOOST_AUTO_TEST_CASE(a_signal_that_is_ignored_at_the_start_stays_ignored) {
  const RunWorkspace stage;
  stage.write("nap.yaml", machine_with_storage +
                              "tasks:\n"
                              "  nap: {op: sleep, duration: 100 ms, repeat: 10, on: cpu0}\n"
                              "  w: {op: copy, in: nap, to: disk}\n");
  ProgramOptions options = stage.options();
  options.ignored_signals = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};
  Program program(troupe_command({"run", "nap.yaml", "--json", "report.json"}), options);
  BOOST_TEST(program.wait_until([&] { return stage.store_folders() >= 1; }));
  for (const int signal : options.ignored_signals) program.send(signal);
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(finished.err == "");
  BOOST_TEST(stage.report()["scenarios"][0]["outcome"] == "done");
}

BOOST_AUTO_TEST_CASE(an_output_over_the_file_size_limit_is_an_error_and_leaves_nothing_behind) {
  const RunWorkspace stage;
  const std::vector<std::string> before = stage.files();
  ProgramOptions options = stage.options();
  options.file_size_max = 100;
  const Finished finished = run_troupe({"simulate", "naps.yaml", "--json", "report.json"}, options);
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "could not write all of 'report.json': File too large"),
             finished.err);
  BOOST_TEST(stage.files() == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
