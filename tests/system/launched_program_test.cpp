// `troupe launch`: programs that find nodes in their environment.
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(launched_program)
namespace {

struct Files : RunWorkspace {
  // The command that launches a program, with two nodes.
  std::vector<std::string> launch(const std::vector<std::string>& program) const {
    std::vector<std::string> words = {"launch", "--local-nodes", "2"};
    words.insert(words.end(), program.begin(), program.end());
    return troupe_command(words);
  }
  Finished finish(const std::vector<std::string>& program,
                  const std::map<std::string, std::string>& environment = {}) const {
    ProgramOptions options = options_in(*this);
    options.environment.insert(environment.begin(), environment.end());
    const Finished finished = Program(launch(program), options).wait();
    BOOST_TEST(!finished.timed_out);
    check_nothing_is_left(*this);
    return finished;
  }
  // In the order in which they were started.
  std::vector<pid_t> nodes_here() const {
    std::vector<pid_t> nodes = processes_in(path());
    std::erase_if(nodes, [](pid_t process) {
      std::ifstream file("/proc/" + std::to_string(process) + "/cmdline");
      const std::string words(std::istreambuf_iterator<char>(file), {});
      return words.find(std::string("\0node\0", 6)) == std::string::npos;
    });
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_launched_program_learns_how_tensors_go_between_its_nodes, Files) {
  const std::vector<std::string> program = {"sh", "-c", "echo $TROUPE_TRANSPORT"};
  const auto learnt = [&](const std::vector<std::string>& options,
                          const std::string& of_user = {}) {
    std::vector<std::string> words = options;
    words.insert(words.end(), program.begin(), program.end());
    return finish(words, {{"TROUPE_TRANSPORT", of_user}}).out;
  };
  BOOST_TEST(learnt({}) == "tcp\n");
  BOOST_TEST(learnt({"--transport", "shared-memory"}) == "shared-memory\n");
  const std::string of_user = "shared-memory";
  BOOST_TEST(learnt({}, of_user) == "shared-memory\n");
  BOOST_TEST(learnt({"--transport", "tcp"}, of_user) == "tcp\n");
  BOOST_TEST(learnt({}, "rdma") == "rdma\n");  // which a session refuses
}

BOOST_FIXTURE_TEST_CASE(a_launched_program_has_its_arguments_and_the_addresses_of_nodes, Files) {
  for (const std::vector<std::string>& mark : {std::vector<std::string>{}, {"--"}}) {
    std::vector<std::string> program = mark;
    for (const char* word :
         {"sh", "-c", "echo $TROUPE_NODES $1 $2 $3", "sh", "--local-nodes", "--title=", "--"}) {
      program.emplace_back(word);
    }
    const Finished finished = finish(program);
    BOOST_TEST(finished.exit_code == 0);
    BOOST_TEST(std::ranges::count(finished.out, ':') == 2, finished.out);
    BOOST_TEST(finished.out.starts_with("127.0.0.1:"));
    BOOST_TEST(finished.out.ends_with(" --local-nodes --title= --\n"), finished.out);
    BOOST_TEST(finished.err.empty(), finished.err);
  }
}

BOOST_FIXTURE_TEST_CASE(launched_nodes_serve_one_leader_after_another, Files) {
  write(
      "run.yaml",
      "machine: {discover: {}}\n"
      "tasks: {x: {op: uniform, shape: [8], on: n1.cpu0}, y: {op: copy, in: [x], to: n0.mem0}}\n");
  const std::string run = "'" + troupe_command({}).front() + "' run run.yaml --nodes $TROUPE_NODES";
  const Finished finished = finish({"sh", "-c", run + " && " + run});
  BOOST_TEST(finished.exit_code == 0, finished.err);
}

BOOST_FIXTURE_TEST_CASE(launch_returns_what_its_program_returns, Files) {
  BOOST_TEST(finish({"sh", "-c", "exit 7"}).exit_code == 7);
  BOOST_TEST(finish({"sh", "-c", "kill -KILL $$"}).exit_code == 128 + SIGKILL);
  // Who reads what it writes may go away, as of any program.
  BOOST_TEST(finish({"sh", "-c", "kill -PIPE $$"}).exit_code == 128 + SIGPIPE);
}

BOOST_FIXTURE_TEST_CASE(a_launched_program_may_open_as_many_files_as_without_launch, Files) {
  std::string launched;
  for (const std::string& word : launch({"--", "sh", "-c", "ulimit -n"})) {
    launched += " '" + word + "'";
  }
  const Finished finished =
      Program({"/bin/sh", "-c", "ulimit -Sn 300; exec" + launched}, options_in(*this)).wait();
  BOOST_TEST(finished.out == "300\n", finished.err);
}

BOOST_FIXTURE_TEST_CASE(a_signal_for_launch_is_passed_on_to_its_program, Files) {
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH}) {
    BOOST_TEST_CONTEXT("signal " << signal) {
      Program program(
          launch({"sh", "-c",
                  "trap 'echo caught; exit 3' INT TERM HUP QUIT USR1 USR2 ALRM CONT WINCH\n"
                  "echo ready\n"
                  "while true; do sleep 0.01; done"}),
          options_in(*this));
      BOOST_REQUIRE(program.wait_until([&] { return contains(program.out(), "ready"); }));
      program.send(signal);
      const Finished finished = program.wait();
      BOOST_TEST(finished.exit_code == 3);
      BOOST_TEST(contains(finished.out, "caught"));
      check_nothing_is_left(*this);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(launch_says_how_a_node_has_ended_that_it_has_not_ended, Files) {
  Program program(launch({"sh", "-c", "echo ready; read line < go; exit 5"}), options_in(*this));
  BOOST_REQUIRE(mkfifo((path() / "go").c_str(), 0600) == 0);
  BOOST_REQUIRE(program.wait_until([&] { return contains(program.out(), "ready"); }));
  const std::vector<pid_t> nodes = nodes_here();
  BOOST_REQUIRE(nodes.size() == 2U);
  kill(nodes[1], SIGABRT);
  BOOST_TEST(program.wait_until([&] { return contains(program.err(), "\n"); }));
  write("go", "\n");
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 5);
  BOOST_TEST(finished.err == "troupe: node n1 was ended by signal 6 (Aborted)\n");
  check_nothing_is_left(*this);
}

BOOST_FIXTURE_TEST_CASE(launch_says_it_of_a_node_that_ends_just_before_its_program, Files) {
  Program program(launch({"sh", "-c",
                          "echo ready; read pids < go; kill -ABRT $pids\n"
                          "for pid in $pids; do\n"
                          "  while grep -qs '^State:.[^Z]' /proc/$pid/status; do "
                          "sleep 0.01; done\n"
                          "done\n"
                          "exit 1"}),
                  options_in(*this));
  BOOST_REQUIRE(mkfifo((path() / "go").c_str(), 0600) == 0);
  BOOST_REQUIRE(program.wait_until([&] { return contains(program.out(), "ready"); }));
  std::string pids;
  for (const pid_t node : nodes_here()) pids += std::to_string(node) + " ";
  write("go", pids + "\n");
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 1);
  for (const char* node : {"n0", "n1"}) {
    BOOST_TEST(contains(finished.err, std::string(node) + " was ended by signal 6 (Aborted)\n"),
               finished.err);
  }
}

// As Ctrl-\, and launchers that tell a job that its time is running out.
BOOST_FIXTURE_TEST_CASE(nodes_outlive_a_signal_that_all_processes_get, Files) {
  Program program(launch({"sh", "-c", "echo ready; read line < go; sleep 0.1"}), options_in(*this));
  BOOST_REQUIRE(mkfifo((path() / "go").c_str(), 0600) == 0);
  BOOST_REQUIRE(program.wait_until([&] { return contains(program.out(), "ready"); }));
  for (const pid_t node : nodes_here()) {
    kill(node, SIGQUIT);
    kill(node, SIGUSR1);
  }
  write("go", "\n");
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(finished.err.empty(), finished.err);
}

BOOST_FIXTURE_TEST_CASE(nodes_end_with_a_launch_that_is_killed, Files) {
  Program program(launch({"sh", "-c", "echo ready; exec sleep 1"}), options_in(*this));
  BOOST_REQUIRE(program.wait_until([&] { return contains(program.out(), "ready"); }));
  program.send(SIGKILL);
  program.wait();
  check_nothing_is_left(*this);
}

BOOST_FIXTURE_TEST_CASE(what_can_not_be_launched_is_refused, Files) {
  const auto check = [&](const std::vector<std::string>& words, const std::string& problem) {
    const Finished finished = run(words);
    BOOST_TEST(finished.exit_code == 2);
    BOOST_TEST(contains(finished.err, problem), finished.err);
    check_nothing_is_left(*this);
  };
  check({"launch", "--local-nodes", "2"}, "no program is given");
  check({"launch", "--local-nodes", "2", "--"}, "no program is given");
  check({"launch", "true"}, "--local-nodes is required");
  check({"launch", "--local-nodes=", "true"}, "there is nothing after the '='");
  check({"launch", "--local-nodes", "0", "true"}, "--local-nodes");
  check({"launch", "--locl-nodes", "2", "true"}, "there is no option '--locl-nodes'");
  check({"launch", "--local-nodes", "2", "./nosuch"}, "could not start './nosuch': No such file");
  check({"launch", "--local-nodes", "2", "/"}, "could not start '/': Permission denied");
  check({"launch", "--local-nodes", "2", "--ops", "./nosuch.so", "true"}, "nosuch.so");
}

BOOST_AUTO_TEST_SUITE_END()
