// Machines of many devices, and hosts with few threads: what a run takes of its host, through the
// program.
#include "tests/support/few_cores.hpp"
#include "tests/support/workspace.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace troupe::testing;
namespace fs = std::filesystem;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(host_limits)
namespace {

// A number of /proc/PID/status; 0 where there is none, or the process has ended.
std::uint64_t status_of(pid_t process, const std::string& key) {
  std::ifstream in(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1));
  }
  return 0;
}

// The most that was seen of a program while it ran.
struct Peak {
  Finished finished;
  std::uint64_t threads = 0;
  std::uint64_t memory_kib = 0;
};

Peak watch(const Workspace& workspace, const std::vector<std::string>& arguments) {
  Program program(troupe_command(arguments), workspace.options());
  Peak peak;
  program.wait_until([&] {
    peak.threads = std::max(peak.threads, status_of(program.pid(), "Threads"));
    peak.memory_kib = std::max(peak.memory_kib, status_of(program.pid(), "VmHWM"));
    return false;
  });
  peak.finished = program.wait();
  return peak;
}

// The command that runs `command` with at most `threads` threads, as a user of whom there is no
// other process: root has no such limit.
std::vector<std::string> with_threads(int threads, const std::vector<std::string>& command) {
  std::vector<std::string> result;
  if (geteuid() == 0) {
    const int user = 100'000 + getpid() % 100'000;
    result = {"setpriv", fmt::format("--reuid={}", user), fmt::format("--regid={}", user),
              "--clear-groups"};
  }
  result.insert(result.end(), {"prlimit", fmt::format("--nproc={0}:{0}", threads)});
  result.insert(result.end(), command.begin(), command.end());
  return result;
}

// A workspace with one run file, for the user of with_threads().
class FewThreads : public Workspace {
 public:
  explicit FewThreads(std::string_view run_file) {
    fs::permissions(path(), fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
    write("run.yaml", run_file);
  }
  Finished start(int threads, const char* command) const {
    ProgramOptions few = options();
    few.environment["ASAN_OPTIONS"] = "detect_leaks=0";  // which takes a process of its own
    return Program(with_threads(threads, troupe_command({command, "run.yaml"})), few).wait();
  }
};

boost::test_tools::assertion_result can_limit_threads(boost::unit_test::test_unit_id) {
  static const bool can =
      Program(with_threads(1, troupe_command({"--version"}))).wait().exit_code == 0;
  boost::test_tools::assertion_result result(can);
  result.message() << "this process may not run the program as a user with few threads";
  return result;
}

// Two devices and a copy between their memories.
constexpr const char* pair_of_devices =
    "machine: {discover: {cpu_devices: 2}}\n"
    "tasks:\n"
    "  x: {op: uniform, shape: [100, 100], on: cpu0}\n"
    "  y: {op: copy, in: x, to: mem1}\n"
    "  z: {op: relu, in: y, on: cpu1}\n";

}  // namespace

// Without the actors of the devices and links that have nothing to do, 5 threads do it all.
BOOST_AUTO_TEST_CASE(a_thousand_devices_without_work_take_neither_threads_nor_memory) {
  for (const std::string command : {"run", "simulate"}) {
    const Workspace workspace;
    workspace.write("idle.yaml",
                    "machine: {discover: {cpu_devices: 1024, storage: true}}\n"
                    "tasks: {nap: {op: sleep, duration: 200 ms, repeat: 3, on: cpu0}}\n");
    const Peak peak = watch(workspace, {command, "idle.yaml", "--json", "r.json"});
    BOOST_TEST(peak.finished.exit_code == 0);
    BOOST_TEST(peak.finished.err == "");
    BOOST_TEST(json::parse(workspace.read("r.json"))["scenarios"][0]["ops"] == 3);
    BOOST_TEST(peak.threads <= 8U);
#if !defined(TROUPE_SANITIZE_ADDRESS)
    BOOST_TEST(peak.memory_kib < 200U << 10);
#endif
  }
}

//   x (cpu0) → mem1, mem2, … mem39 at once, then a nap while all threads are there still
BOOST_AUTO_TEST_CASE(links_at_work_share_threads_whose_number_the_host_bounds) {
  const Workspace workspace;
  std::string file =
      "machine: {discover: {cpu_devices: 40}}\n"
      "tasks:\n"
      "  x: {op: uniform, shape: [100, 100], on: cpu0}\n"
      "  nap: {op: sleep, duration: 500 ms, on: cpu0}\n";
  std::string copies;
  for (int m = 1; m < 40; ++m) {
    file += fmt::format("  c{0}: {{op: copy, in: x, to: mem{0}}}\n", m);
    copies += fmt::format("c{}, ", m);
  }
  workspace.write("fan.yaml", file + "scenarios: {all: [x, " + copies + "wait, nap]}\n");
  const Peak peak = watch(workspace, {"run", "fan.yaml", "--json", "r.json"});
  BOOST_TEST(peak.finished.exit_code == 0);
  BOOST_TEST(peak.finished.err == "");
  const json scenario = json::parse(workspace.read("r.json"))["scenarios"][0];
  BOOST_TEST(scenario["transfers"] == 39);
  BOOST_TEST(scenario["verified"] == true);
  const std::uint64_t units = std::thread::hardware_concurrency();
  const std::uint64_t others = 4;  // main, coordinator, clock, cpu0
  BOOST_TEST(peak.threads <=
             others + std::max<std::uint64_t>(8, units) + std::max<std::uint64_t>(16, 2 * units));
}

BOOST_AUTO_TEST_CASE(a_thousand_devices_at_work_end_when_they_are_interrupted) {
  const Workspace workspace;
  std::string file = "machine: {discover: {cpu_devices: 1024}}\ntasks:\n";
  for (int d = 0; d < 1024; ++d) {
    file += fmt::format("  n{0}: {{op: sleep, duration: 10 ms, repeat: 1000, on: cpu{0}}}\n", d);
  }
  workspace.write("naps.yaml", file);
  Program program(troupe_command({"run", "naps.yaml", "--verbose", "--json", "r.json"}),
                  workspace.options());
  // The last line before the actors are set up, which may be under way when the signal comes.
  BOOST_TEST(program.wait_until(
      [&] { return program.err().find("link copy0-1023") != std::string::npos; }));
  program.send(SIGTERM);
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(finished.err.ends_with("troupe: interrupted\n"));
  BOOST_TEST(json::parse(workspace.read("r.json"))["interrupted"] == true);
}

// Whatever it is that finds no thread: the program says so in a line, and no signal ends it.
BOOST_AUTO_TEST_CASE(a_host_without_threads_is_told_of_in_a_line,
                     *boost::unit_test::precondition(can_limit_threads)) {
  const FewCores one_for_each_device(2);
  const FewThreads workspace(pair_of_devices);
  int failed_at_work = 0;
  int threads = 1;
  for (;; ++threads) {
    BOOST_TEST_CONTEXT(threads << " threads") {
      BOOST_TEST(workspace.start(threads, "simulate").exit_code == 0);
      const Finished finished = workspace.start(threads, "run");
      BOOST_TEST_INFO(finished.err);
      BOOST_TEST_REQUIRE(finished.signal == 0);
      if (finished.exit_code == 0) break;
      BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
      BOOST_TEST(finished.err.find("could not start ") != std::string::npos);
      BOOST_TEST(finished.err.find("ulimit -u") != std::string::npos);
      failed_at_work += finished.exit_code == 1 ? 1 : 0;
      BOOST_TEST(finished.exit_code == (failed_at_work > 0 ? 1 : 2));
    }
    BOOST_TEST_REQUIRE(threads < 100);
  }
  BOOST_TEST(threads > 4);
  BOOST_TEST(failed_at_work == 1);  // the copy's worker is the last thread to be started
}

// No thread draws the progress line then.
BOOST_AUTO_TEST_CASE(a_terminal_needs_no_thread_of_its_own,
                     *boost::unit_test::precondition(can_limit_threads)) {
  const Workspace workspace;
  fs::permissions(workspace.path(), fs::perms::others_read | fs::perms::others_exec,
                  fs::perm_options::add);
  workspace.write("pair.yaml", pair_of_devices);
  ProgramOptions options = workspace.options();
  options.environment["ASAN_OPTIONS"] = "detect_leaks=0";  // which takes a process of its own
  options.terminal = true;
  const Finished finished =
      Program(with_threads(1, troupe_command({"simulate", "pair.yaml"})), options).wait();
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(finished.err == "");
}

//   x (cpu0) → y (mem1), whose link has work in a window of its own, or in that of cpu0
BOOST_AUTO_TEST_CASE(threads_that_could_not_be_started_are_counted,
                     *boost::unit_test::precondition(can_limit_threads)) {
  const Workspace workspace;
  fs::permissions(workspace.path(), fs::perms::others_read | fs::perms::others_exec,
                  fs::perm_options::add);
  workspace.write("pair.yaml",
                  "machine: {discover: {cpu_devices: 2}}\n"
                  "tasks:\n"
                  "  x: {op: uniform, shape: [100, 100], on: cpu0}\n"
                  "  y: {op: copy, in: x, to: mem1}\n"
                  "scenarios: {apart: [x, wait, y], together: [x, y]}\n");
  ProgramOptions options = workspace.options();
  options.environment["ASAN_OPTIONS"] = "detect_leaks=0";
  // Whether a message contains this part at one of the limits that are too low.
  const auto said = [&](const std::string& scenario, const std::string& part) {
    for (int threads = 4;; ++threads) {
      const Finished finished =
          Program(
              with_threads(threads, troupe_command({"run", "pair.yaml", "--scenario", scenario})),
              options)
              .wait();
      if (finished.err.find(part) != std::string::npos) return true;
      if (finished.exit_code == 0 || threads == 100) return false;
    }
  };
  BOOST_TEST(said("apart", "could not start 1 thread, "));
  BOOST_TEST(said("together", "could not start 2 threads, "));
}

BOOST_AUTO_TEST_SUITE_END()
