#include "actors/session.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/local_nodes.hpp"
#include "apps/troupe/print_error.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {
namespace {

// Those that a program may handle and a launcher or a person sends. Not SIGTSTP: who stops launch
// alone means launch.
constexpr int passed_on[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                             SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};

// Blocks signals that are waited for, and those that are passed on.
class SignalsToWaitFor {
 public:
  SignalsToWaitFor() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGCHLD);
    for (const int signal : passed_on) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }

  const sigset_t& before() const { return before_; }
  // Blocks until the process has ended, and passes signals on to it. Says which nodes have ended
  // before. Returns its status.
  int wait_for(pid_t process, LocalNodes& nodes) const {
    while (true) {
      int status = 0;
      const bool has_ended = waitpid(process, &status, WNOHANG) == process;
      // A program fails because a node ends, and may be through with that before the node is.
      if (has_ended && status != 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      for (const std::string& end : nodes.take_ended()) print_error("troupe: {}", end);
      if (has_ended) return status;
      siginfo_t info{};
      if (sigwaitinfo(&signals_, &info) < 0 || info.si_signo == SIGCHLD) continue;
      // A terminal has told all its processes.
      if (info.si_code <= 0) kill(process, info.si_signo);
    }
  }

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

// Returns its process. Throws a usage Error if there is no such program.
pid_t start_program(const std::vector<std::string>& command, const sigset_t& signals) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments(words.size() + 1);  // the last one is null
  std::transform(words.begin(), words.end(), arguments.begin(),
                 [](std::string& word) { return word.data(); });
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigset_t ignored;  // by this program: see handle_signals()
  sigemptyset(&ignored);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&ignored, signal);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, arguments[0], nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return process;
  throw usage_error(
      fmt::format("could not start '{}': {}", visible(command.front()), system_message(error)),
      "name a program, with its folder unless it is in the PATH, and its arguments");
}

}  // namespace

int launch_command(const LaunchArguments& arguments) {
  const std::string help = "'troupe launch --help' shows how it is called";
  if (!arguments.command.empty() && arguments.command.front().starts_with('-')) {
    throw usage_error(fmt::format("there is no option '{}'", visible(arguments.command.front())),
                      help);
  }
  if (arguments.local_nodes == 0) throw usage_error("--local-nodes is required", help);
  if (arguments.command.empty()) {
    throw usage_error("no program is given", "write it, and its arguments, behind the options");
  }
  LocalNodes nodes({.count = arguments.local_nodes,
                    .ops = arguments.ops,
                    .node_timeout_s = arguments.node_timeout_s,
                    .once = false});
  setenv(nodes_variable, fmt::format("{}", fmt::join(nodes.addresses(), ",")).c_str(), 1);
  const char* const of_user = std::getenv(transport_variable);
  if (arguments.shared_memory || of_user == nullptr || *of_user == '\0') {
    setenv(transport_variable, arguments.shared_memory.value_or(false) ? "shared-memory" : "tcp",
           1);
  }
  const SignalsToWaitFor signals;
  const int status = signals.wait_for(start_program(arguments.command, signals.before()), nodes);
  constexpr int exit_by_signal = 128;  // as shells have it
  return WIFSIGNALED(status) ? exit_by_signal + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace troupe
