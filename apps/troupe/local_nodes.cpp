#include "apps/troupe/local_nodes.hpp"

#include "core/base/error.hpp"
#include "core/machine/discover.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

// Blocks all signals of the calling thread, so that a process that it forks begins without them.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

// What the leader does on a signal isn't for its nodes.
void forget_handlers() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    std::signal(signal, SIG_DFL);
  }
}

// The process of a node, between fork and exec: nothing may allocate. `signals` are those to be
// blocked.
[[noreturn]] void become_node(const char* program, char* const* arguments, int output,
                              const cpu_set_t& cores, pid_t parent, sigset_t signals) {
  forget_handlers();
  // When the leader dies. SIGQUIT would leave core files, and shells have programs in the
  // background ignore it.
  constexpr int ends = SIGUSR2;
  std::signal(ends, SIG_DFL);
  sigdelset(&signals, ends);
  prctl(PR_SET_PDEATHSIG, ends);
  if (getppid() != parent) _exit(1);  // it has died already
  // Ctrl-C, and what a launcher sends to all its processes, are for the leader, which ends the run
  // in good order.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  sched_setaffinity(0, sizeof cores, &cores);
  dup2(output, STDOUT_FILENO);
  execv(program, arguments);
  _exit(127);
}

// The first line that a process writes; what there is if it ends before.
std::string read_line(int fd) {
  std::string line;
  for (char c = 0; read(fd, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

// Returns how the process has ended, for which it blocks.
int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

cpu_set_t part_of_cores(const std::vector<int>& cores, std::size_t index, std::size_t count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const std::size_t first = cores.size() * index / count;
  const std::size_t last = std::max(cores.size() * (index + 1) / count, first + 1);
  for (std::size_t c = first; c < last; ++c) CPU_SET(cores[c % cores.size()], &set);
  return set;
}

LocalNodes::LocalNodes(const LocalNodesOptions& options)
    : options_(options), processes_(options.count), addresses_(options.count) {
  for (std::size_t i = 0; i < options.count; ++i) start(i);
}

std::string LocalNodes::restart(std::size_t index) {
  if (const pid_t process = std::exchange(processes_[index], 0); process != 0) {
    kill(process, SIGKILL);
    wait_for(process);
  }
  start(index);
  return addresses_[index];
}

void LocalNodes::start(std::size_t index) {
  static const HostInfo host = discover_host();
  std::vector<std::string> words = {
      "troupe",
      "node",
      "--listen",
      options_.listen,
      "--once",
      "--memory-share",
      fmt::format("{}", options_.memory_share / static_cast<double>(options_.count)),
      "--node-timeout",
      fmt::format("{}", options_.node_timeout_s)};
  for (const std::string& library : options_.ops) words.insert(words.end(), {"--ops", library});
  words.insert(words.end(), options_.more.begin(), options_.more.end());
  std::vector<char*> arguments(words.size() + 1);  // the last one is null
  std::transform(words.begin(), words.end(), arguments.begin(),
                 [](std::string& word) { return word.data(); });
  const cpu_set_t cores = part_of_cores(host.cores, index, options_.count);
  int ends[2];
  const pid_t parent = getpid();
  pid_t process = -1;
  int error = 0;
  if (pipe2(ends, O_CLOEXEC) == 0) {
    {
      const BlockedSignals blocked;
      process = fork();
      if (process == 0) {
        become_node(options_.program.c_str(), arguments.data(), ends[1], cores, parent,
                    blocked.before());
      }
      error = errno;
    }
    close(ends[1]);
    if (process < 0) close(ends[0]);
  } else {
    error = errno;
  }
  if (process < 0) {
    throw run_error(
        fmt::format("could not start node n{}: {}", options_.first + index, system_message(error)),
        "use fewer nodes, or raise the limit of processes (ulimit -u)");
  }
  processes_[index] = process;
  const std::string line = read_line(ends[0]);
  close(ends[0]);
  const std::string_view expected = "listening on ";
  if (!line.starts_with(expected)) {
    const int status = wait_for(std::exchange(processes_[index], 0));
    constexpr int exit_usage = 2;
    const bool is_usage = WIFEXITED(status) && WEXITSTATUS(status) == exit_usage;
    throw Error(is_usage ? ErrorKind::usage : ErrorKind::failed, SourcePlace{},
                fmt::format("node n{} has ended before it listened", options_.first + index),
                "see what it says above");
  }
  addresses_[index] = line.substr(expected.size(), line.find(',') - expected.size());
}

bool LocalNodes::wait() {
  bool are_well = true;
  for (pid_t& process : processes_) {
    if (process == 0) continue;
    const int status = wait_for(std::exchange(process, 0));
    are_well = are_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return are_well;
}

void LocalNodes::wake() {
  for (const pid_t process : processes_) {
    if (process != 0) kill(process, SIGCONT);
  }
}

LocalNodes::~LocalNodes() {
  const auto patience = std::chrono::steady_clock::now() + 1s;
  for (const pid_t process : processes_) {
    while (process != 0 && waitpid(process, nullptr, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > patience) kill(process, SIGKILL);
      std::this_thread::sleep_for(2ms);
    }
  }
}

}  // namespace troupe
