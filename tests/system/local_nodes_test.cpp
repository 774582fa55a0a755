// Processes of --local-nodes that are suspended or killed before they listen, or don't say that
// they do.
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <csignal>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/types.h>
#include <unistd.h>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(local_nodes)
namespace {

struct Files : RunWorkspace {
  Files() {
    write("run.yaml",
          "machine: {discover: {}}\n"
          "tasks:\n"
          "  a: {op: sleep, duration: 20 ms, repeat: 1000, on: n0.cpu0}\n"
          "  b: {op: sleep, duration: 20 ms, repeat: 1000, on: n1.cpu0}\n");
  }

  ~Files() {
    for (const pid_t process : processes_in(path())) kill(process, SIGKILL);
  }

  // Begins a run on two nodes. Those that start after `spared` others are struck: see striking_ops.
  Program start(const std::string& strike, int spared, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"run", "run.yaml", "--verbose",         "--local-nodes",
                                      "2",   "--ops",    STRIKING_OPS_LIBRARY};
    words.insert(words.end(), more.begin(), more.end());
    ProgramOptions options = options_in(*this);
    options.environment = {{"NODE_STRIKE", strike}, {"NODES_SPARED", std::to_string(spared)}};
    return {troupe_command(words), options};
  }
  Program start(int signal, int spared, const std::vector<std::string>& more) const {
    return start(std::to_string(signal), spared, more);
  }
  void check_refused_to_start(Program run, const std::string& problem,
                              const std::string& remedy) const {
    const Finished finished = run.wait();
    BOOST_TEST(!finished.timed_out);
    BOOST_TEST(finished.exit_code == 2);
    BOOST_TEST(contains(finished.err, problem), finished.err);
    BOOST_TEST(contains(finished.err, remedy), finished.err);
    check_nothing_is_left(*this);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_local_node_that_is_suspended_before_it_listens_is_not_waited_for, Files) {
  check_refused_to_start(start(SIGSTOP, 0, {"--connect-timeout", "0.2"}),
                         "troupe: node n0 has not begun to listen within 200 ms; ",
                         "--connect-timeout");
}

// So that those that are killed leave no name in /dev/shm, whenever that is.
BOOST_FIXTURE_TEST_CASE(memory_that_nodes_share_has_no_name, RunWorkspace,
                        *boost::unit_test::precondition(can_mount)) {
  write("run.yaml",
        "machine: {discover: {}}\n"
        "tensors: {x: {op: uniform, shape: [100, 100], on: n0.cpu0}}\n"
        "tasks: {y: {op: relu, in: [x], on: n1.cpu0}}\n");
  const auto command = with_tmpfs(
      "/dev/shm", "ro",
      troupe_command({"run", "run.yaml", "--local-nodes", "2", "--transport", "shared-memory"}));
  const Finished finished = Program(command, options_in(*this)).wait();
  BOOST_TEST(finished.exit_code == 0, finished.err);
}

BOOST_FIXTURE_TEST_CASE(a_system_without_room_for_shared_memory_is_told_from_other_failures, Files,
                        *boost::unit_test::precondition(can_mount)) {
  const auto command = with_tmpfs(
      "/dev/shm", "size=0",  // without a limit, for which the kernel says that nothing is free
      troupe_command({"run", "run.yaml", "--local-nodes", "2", "--transport", "shared-memory"}));
  check_refused_to_start(Program(command, options_in(*this)), "/dev/shm is full, or there is none",
                         "--transport tcp");
}

BOOST_FIXTURE_TEST_CASE(a_local_node_that_writes_without_end_is_not_waited_for, Files) {
  check_refused_to_start(start("noise", 0, {"--connect-timeout", "0.2"}),
                         "troupe: node n0 has not begun to listen within 200 ms; ",
                         "--connect-timeout");
}

BOOST_FIXTURE_TEST_CASE(a_local_node_whose_output_a_library_has_closed_is_not_waited_for, Files) {
  check_refused_to_start(start("silence", 0, {"--connect-timeout", "1"}),
                         "troupe: node n0 has not begun to listen within 1 s; ",
                         "--connect-timeout");
}

// On a host that is slow, n0 is late itself.
BOOST_FIXTURE_TEST_CASE(no_local_node_is_left_when_another_one_does_not_listen, Files) {
  check_refused_to_start(start(SIGSTOP, 1, {"--connect-timeout", "2"}),
                         " has not begun to listen within 2 s; ", "--connect-timeout");
}

BOOST_FIXTURE_TEST_CASE(a_local_node_that_is_killed_before_it_listens_is_named_with_the_signal,
                        Files) {
  check_refused_to_start(start(SIGKILL, 1, {"--connect-timeout", "60"}),
                         "troupe: node n1 was killed by signal 9 before it listened; ",
                         "what has killed it");
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_fails_when_no_local_node_that_is_started_again_listens) {
  for (const int signal : {SIGSTOP, SIGKILL}) {
    BOOST_TEST_CONTEXT("signal " << signal) {
      const Files files;
      Program run = files.start(signal, 2, {"--connect-timeout", "60", "--on-loss", "wait:1s"});
      wait_until_under_way(run);
      for (const pid_t process : processes_in(files.path())) {
        if (process == run.pid()) continue;
        kill(process, SIGKILL);
        break;
      }
      const Finished finished = run.wait();
      BOOST_TEST(!finished.timed_out);
      BOOST_TEST(finished.exit_code == 1);
      BOOST_TEST(contains(finished.err, "no other one has taken its place in 1 s: node n"),
                 finished.err);
      BOOST_TEST(contains(finished.err, " was ended by signal 9 (Killed)"), finished.err);
      check_nothing_is_left(files);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_run_says_how_a_local_node_has_ended, Files) {
  Program run(
      troupe_command({"run", "run.yaml", "--verbose", "--local-nodes", "2", "--on-loss", "fail"}),
      options_in(*this));
  wait_until_under_way(run);
  for (const pid_t process : processes_in(path())) {
    if (process == run.pid()) continue;
    kill(process, SIGABRT);
    break;
  }
  const Finished finished = run.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "\ntroupe: node n"), finished.err);
  BOOST_TEST(contains(finished.err, " was ended by signal 6 (Aborted)\n"), finished.err);
}

BOOST_AUTO_TEST_SUITE_END()
