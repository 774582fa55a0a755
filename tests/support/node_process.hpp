// A node process, which lends its devices to the runs of a test.
#pragma once

#include "tests/support/workspace.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/types.h>

namespace troupe::testing {

// What hangs is ended soon.
inline ProgramOptions options_in(const Workspace& workspace) {
  ProgramOptions options = workspace.options();
  options.limit = std::chrono::minutes(2);
  return options;
}

// Blocks until some ops of a run with --verbose have finished.
inline void wait_until_under_way(Program& run) {
  BOOST_REQUIRE(
      run.wait_until([&] { return run.err().find("is under way") != std::string::npos; }));
}

// Nodes inherit the folder in which a run was started.
inline std::vector<pid_t> processes_in(const std::filesystem::path& folder) {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::filesystem::path at = std::filesystem::read_symlink(entry.path() / "cwd", gone);
    if (!gone && at == folder) found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

// Blocks until `condition` holds, but no longer than a minute; returns whether it does.
inline bool soon(const std::function<bool()>& condition) {
  const auto late = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > late) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

inline void check_nothing_is_left(const Workspace& workspace) {
  BOOST_TEST(soon([&] { return processes_in(workspace.path()).empty(); }),
             "processes of nodes are left");
}

// A node process, which runs until it is destroyed.
class NodeProcess {
 public:
  // On 127.0.0.1, with more options.
  explicit NodeProcess(const Workspace& workspace, const std::vector<std::string>& options = {})
      : NodeProcess(workspace, {}, "127.0.0.1:0", options) {}
  // `prefix`: the words of a command that runs another one. `listen`: "host:port".
  NodeProcess(const Workspace& workspace, const std::vector<std::string>& prefix,
              const std::string& listen, const std::vector<std::string>& options)
      : program_(command(prefix, listen, options), options_in(workspace)) {
    const std::string word = "listening on ";
    BOOST_REQUIRE(
        program_.wait_until([&] { return program_.out().find('\n') != std::string::npos; }));
    const std::size_t end = program_.out().find_first_of(",\n");
    address_ = program_.out().substr(word.size(), end - word.size());
  }
  ~NodeProcess() {
    if (has_ended_) return;
    const std::string said = end();
    BOOST_TEST(said.empty(), "a node says: " << said);
  }
  // Returns what it has said to standard error.
  std::string end() { return finish().err; }
  Finished finish() {
    has_ended_ = true;
    program_.send(SIGTERM);
    return program_.wait();
  }
  const std::string& address() const { return address_; }
  Program& program() { return program_; }

 private:
  static std::vector<std::string> command(const std::vector<std::string>& prefix,
                                          const std::string& listen,
                                          const std::vector<std::string>& options) {
    std::vector<std::string> words = {"node", "--listen", listen};
    words.insert(words.end(), options.begin(), options.end());
    // One device by default, also on hosts with several NUMA nodes.
    if (std::ranges::find(options, "--devices") == options.end()) {
      words.insert(words.end(), {"--devices", "1"});
    }
    words = troupe_command(words);
    words.insert(words.begin(), prefix.begin(), prefix.end());
    return words;
  }

  Program program_;
  std::string address_;
  bool has_ended_ = false;
};

}  // namespace troupe::testing
