// Signals: which of them end a run in good order, and that none leaves files behind.
#include "tests/support/stage.hpp"

#include <csignal>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe::testing;

namespace {

// A tensor is in storage, and then nothing happens for a minute.
void write_long_nap(const Stage& stage) {
  stage.write("long.yaml",
              "machine:\n"
              "  devices: {cpu0: {kind: cpu, memory: host}}\n"
              "  memories:\n"
              "    host: {size: 1 GiB}\n"
              "    disk: {kind: storage, directory: store}\n"
              "  links: {ssd: {between: [host, disk], bandwidth: 1 GB/s}}\n"
              "tasks:\n"
              "  a: {op: uniform, shape: [1000], on: cpu0}\n"
              "  w: {op: copy, in: a, to: disk}\n"
              "  nap: {op: sleep, duration: 60 s, on: cpu0}\n"
              "scenarios: {all: [a, w, wait, nap]}\n");
}

// Sends `signals` while it naps, one right after the other; the signal that ended the program.
int ended_by(const std::vector<int>& signals) {
  const Stage stage;
  write_long_nap(stage);
  stage.write("report.json", "old");
  const std::vector<std::string> before = stage.files();
  Program program(
      troupe_command({"run", "long.yaml", "--json", "report.json", "--trace", "new.json"}),
      stage.options());
  BOOST_TEST(program.wait_until([&] { return stage.tensor_files() >= 1; }));
  for (const int signal : signals) program.send(signal);
  const Finished finished = program.wait();
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(stage.store_folders() == 0U);
  std::vector<std::string> after = stage.files();
  std::erase_if(after, [](const std::string& name) { return name.starts_with("core"); });
  BOOST_TEST(after == before, boost::test_tools::per_element());
  BOOST_TEST(stage.read("report.json") == "old");
  return finished.signal;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(signals)

BOOST_AUTO_TEST_CASE(a_second_interrupt_ends_the_program_at_once_and_leaves_nothing_behind) {
  const int signal = ended_by({SIGINT, SIGTERM});
  BOOST_TEST((signal == SIGINT || signal == SIGTERM));
}

BOOST_AUTO_TEST_CASE(sigquit_ends_the_program_at_once_and_leaves_nothing_behind) {
  BOOST_TEST(ended_by({SIGQUIT}) == SIGQUIT);
}

// As nohup does.
BOOST_AUTO_TEST_CASE(a_signal_that_is_ignored_at_the_start_stays_ignored) {
  const Stage stage;
  stage.write("nap.yaml",
              "machine:\n"
              "  devices: {cpu0: {kind: cpu, memory: host}}\n"
              "  memories:\n"
              "    host: {size: 1 GiB}\n"
              "    disk: {kind: storage, directory: store}\n"
              "  links: {ssd: {between: [host, disk], bandwidth: 1 GB/s}}\n"
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
  const Stage stage;
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
