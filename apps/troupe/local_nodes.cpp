#include "apps/troupe/local_nodes.hpp"

#include "apps/troupe/commands.hpp"
#include "core/base/units.hpp"
#include "core/machine/discover.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
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

// Says that the leader is gone. SIGQUIT would leave core files, and shells have programs in the
// background ignore it.
constexpr int leader_gone_signal = SIGUSR2;

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
  for (const int signal : {leader_gone_signal, SIGALRM}) {  // and those that end it in time
    std::signal(signal, SIG_DFL);
    sigdelset(&signals, signal);
  }
  prctl(PR_SET_PDEATHSIG, leader_gone_signal);
  if (getppid() != parent) _exit(1);  // it has died already
  // Ctrl-C, and what a launcher sends to all its processes, are for the leader, which ends the run
  // in good order, or handles them otherwise.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1}) {
    std::signal(signal, SIG_IGN);
  }
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  sched_setaffinity(0, sizeof cores, &cores);
  dup2(output, STDOUT_FILENO);
  execv(program, arguments);
  _exit(127);
}

using Deadline = std::chrono::steady_clock::time_point;

// The first line that a process writes and that begins with `start`, without that; empty if it
// closes its output before, as it does when it ends. None if it does neither in time. Libraries of
// ops may write lines, too.
std::optional<std::string> read_after(std::string_view start, int fd, Deadline until) {
  std::string line;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now())
            .count();
    if (left <= 0) return std::nullopt;
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    constexpr std::int64_t longest = std::numeric_limits<int>::max();
    const int count = poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, longest)));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    char c = 0;
    if (read(fd, &c, 1) != 1) return "";
    if (c != '\n') {
      line += c;
    } else if (line.starts_with(start)) {
      return line.substr(start.size());
    } else {
      line.clear();
    }
  }
}

// Returns how the process has ended, for which it blocks.
int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The same, until then at most. None: it hasn't ended.
std::optional<int> wait_for(pid_t process, Deadline until) {
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) return std::nullopt;
    std::this_thread::sleep_for(2ms);
  }
  return status;
}

// Of a node whose process has ended with this status.
Error ended_early(const std::string& node, int status, ErrorKind kind) {
  if (WIFSIGNALED(status)) {
    return Error(
        kind, {},
        fmt::format("{} was killed by signal {} before it listened", node, WTERMSIG(status)),
        "see what has killed it, such as a lack of memory");
  }
  const bool is_usage = WIFEXITED(status) && WEXITSTATUS(status) == exit_usage;
  return Error(is_usage ? ErrorKind::usage : kind, {},
               fmt::format("{} has ended before it listened", node), "see what it says above");
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
  std::signal(SIGCHLD, SIG_DFL);  // who has started this program may have ignored it
  try {
    for (std::size_t i = 0; i < options.count; ++i) {
      start(i, options.start_timeout, ErrorKind::usage);
    }
  } catch (...) {
    for (std::size_t i = 0; i < options.count; ++i) end(i);
    throw;
  }
}

std::string LocalNodes::restart(std::size_t index, Duration timeout) {
  end(index);
  start(index, timeout, ErrorKind::failed);
  return addresses_[index];
}

void LocalNodes::end(std::size_t index) {
  const pid_t process = std::exchange(processes_[index], 0);
  if (process == 0) return;
  kill(process, SIGKILL);
  wait_for(process);
}

void LocalNodes::start(std::size_t index, Duration timeout, ErrorKind kind) {
  static const HostInfo host = discover_host();
  std::vector<std::string> words = {
      "troupe",
      "node",
      "--listen",
      options_.listen,
      "--memory-share",
      fmt::format("{}", options_.memory_share / static_cast<double>(options_.count)),
      "--node-timeout",
      fmt::format("{}", options_.node_timeout_s)};
  if (options_.once) words.emplace_back("--once");
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
  const std::string name = name_of(index);
  if (process < 0) {
    throw Error(kind, {}, fmt::format("could not start {}: {}", name, system_message(error)),
                "use fewer nodes, or raise the limit of processes (ulimit -u)");
  }
  processes_[index] = process;
  const auto until = std::chrono::steady_clock::now() + timeout;
  const std::optional<std::string> place = read_after("listening on ", ends[0], until);
  close(ends[0]);
  if (place && place->empty()) {
    if (const std::optional<int> status = wait_for(process, until)) {
      processes_[index] = 0;
      throw ended_early(name, *status, kind);
    }
  }
  if (!place || place->empty()) {
    end(index);
    throw Error(kind, {},
                fmt::format("{} has not begun to listen within {}", name, format_duration(timeout)),
                "see what suspends it or keeps it from running, or give it more time with "
                "--connect-timeout");
  }
  addresses_[index] = place->substr(0, place->find(','));
}

std::string LocalNodes::name_of(std::size_t index) const {
  return fmt::format("node n{}", options_.first + index);
}

std::vector<std::string> LocalNodes::take_ended(Duration patience) {
  const auto late = std::chrono::steady_clock::now() + patience;
  std::vector<std::string> ended = take_those_that_have_ended();
  while (ended.empty() && std::chrono::steady_clock::now() < late) {
    std::this_thread::sleep_for(5ms);
    ended = take_those_that_have_ended();
  }
  return ended;
}

std::vector<std::string> LocalNodes::take_those_that_have_ended() {
  std::vector<std::string> ended;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    int status = 0;
    if (processes_[i] == 0 || waitpid(processes_[i], &status, WNOHANG) != processes_[i]) continue;
    processes_[i] = 0;
    ended.push_back(WIFSIGNALED(status) ? fmt::format("{} was ended by signal {} ({})", name_of(i),
                                                      WTERMSIG(status), strsignal(WTERMSIG(status)))
                                        : fmt::format("{} has ended with exit code {}", name_of(i),
                                                      WEXITSTATUS(status)));
  }
  return ended;
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

void LocalNodes::stop() {
  for (const pid_t process : processes_) {
    if (process == 0) continue;
    kill(process, SIGALRM);  // with which a program ends itself when its time is up
    kill(process, SIGCONT);
  }
  await_ends(std::chrono::steady_clock::now() + 1s);
}

LocalNodes::~LocalNodes() {
  await_ends(std::chrono::steady_clock::now() + (options_.once ? 1s : 0s));
}

void LocalNodes::await_ends(Deadline until) {
  constexpr auto patience = 5s;  // the system may not let go of one, as where a file system is gone
  for (pid_t& process : processes_) {
    if (process != 0 && !wait_for(process, until)) {
      kill(process, SIGKILL);
      wait_for(process, std::chrono::steady_clock::now() + patience);
    }
    process = 0;
  }
}

}  // namespace troupe
