// Processes of --local-nodes that are suspended or killed before they listen, or don't say that
// they do.
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/inotify.h>
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

// The names under which UCX has memory in /dev/shm now.
std::set<std::string> shared_memory_names() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("ucx_shm")) names.insert(name);
  }
  return names;
}

// Sees each file that appears in /dev/shm, however soon it is gone.
class SharedMemoryWatch {
 public:
  SharedMemoryWatch() : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    BOOST_REQUIRE(fd_ >= 0);
    BOOST_REQUIRE(inotify_add_watch(fd_, "/dev/shm", IN_CREATE) >= 0);
  }
  ~SharedMemoryWatch() { close(fd_); }
  SharedMemoryWatch(const SharedMemoryWatch&) = delete;
  SharedMemoryWatch& operator=(const SharedMemoryWatch&) = delete;

  bool has_seen_one() const {
    std::array<char, 4096> events;
    return read(fd_, events.data(), events.size()) > 0;
  }

 private:
  int fd_;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_local_node_that_is_suspended_before_it_listens_is_not_waited_for, Files) {
  check_refused_to_start(start(SIGSTOP, 0, {"--connect-timeout", "0.2"}),
                         "troupe: node n0 has not begun to listen within 200 ms; ",
                         "--connect-timeout");
}

BOOST_FIXTURE_TEST_CASE(a_shared_memory_of_the_system_that_is_too_small_for_the_nodes_is_named,
                        Files, *boost::unit_test::precondition(can_mount)) {
  const auto command = with_tmpfs(
      "/dev/shm", "size=4m",
      troupe_command({"run", "run.yaml", "--local-nodes", "2", "--transport", "shared-memory"}));
  check_refused_to_start(Program(command, options_in(*this)),
                         "of /dev/shm are free, and a node needs 4.4 MB", "--shm-size");
}

// The leader dies as soon as a node has begun to make its part of /dev/shm, with which it is busy
// for some milliseconds: later where this host is slow, which proves less.
BOOST_FIXTURE_TEST_CASE(nodes_whose_leader_dies_while_they_start_leave_no_shared_memory, Files) {
  for (const int signal : {SIGTERM, SIGKILL, SIGINT, SIGTERM, SIGKILL, SIGINT}) {
    const std::set<std::string> before = shared_memory_names();
    const SharedMemoryWatch watch;
    Program run(
        troupe_command({"run", "run.yaml", "--local-nodes", "2", "--transport", "shared-memory"}),
        options_in(*this));
    BOOST_REQUIRE(run.wait_until([&] { return watch.has_seen_one(); }));
    run.send(signal);
    run.wait();
    check_nothing_is_left(*this);
    // Tests beside this one have names here too, for a moment.
    const auto is_left = [&](const std::string& name) {
      return !before.contains(name) && !soon([&] { return !shared_memory_names().contains(name); });
    };
    const std::set<std::string> after = shared_memory_names();
    BOOST_TEST(std::ranges::none_of(after, is_left), fmt::format("{}", fmt::join(after, " ")));
  }
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
      check_nothing_is_left(files);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
