#include "tests/support/program.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The two ends of a pipe or terminal: the program writes to one, this process reads from the other.
struct Channel {
  int read = -1;
  int write = -1;
};

void check(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
}

Channel make_channel(bool terminal, unsigned short columns) {
  Channel channel;
  if (terminal) {
    const winsize size{.ws_row = 0, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    check(openpty(&channel.read, &channel.write, nullptr, nullptr, &size), "openpty");
    check(fcntl(channel.read, F_SETFD, FD_CLOEXEC), "fcntl");
    check(fcntl(channel.write, F_SETFD, FD_CLOEXEC), "fcntl");
  } else {
    std::array<int, 2> ends{};
    check(pipe2(ends.data(), O_CLOEXEC), "pipe2");
    channel = {.read = ends[0], .write = ends[1]};
  }
  return channel;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : changes) result.push_back(name + "=" + value);
  return result;
}

// Runs in the new process between fork and exec, so it must call only async-signal-safe functions.
[[noreturn]] void become(char* const* command, char* const* environment,
                         const ProgramOptions& options, int out, int err) {
  const int in = open("/dev/null", O_RDONLY);
  if (in < 0 || dup2(in, STDIN_FILENO) < 0) _exit(126);
  if (!options.out.empty()) out = open(options.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(126);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(126);
  if (options.file_size_max > 0) {
    const rlimit limit{.rlim_cur = options.file_size_max, .rlim_max = options.file_size_max};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(126);
  }
  if (options.address_space_max > 0) {
    const rlimit limit{.rlim_cur = options.address_space_max,
                       .rlim_max = options.address_space_max};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(126);
  }
  for (const int ignored : options.ignored_signals) signal(ignored, SIG_IGN);
  execvpe(command[0], command, environment);
  _exit(127);
}

}  // namespace

Program::Program(const std::vector<std::string>& command, const ProgramOptions& options)
    : deadline_(std::chrono::steady_clock::now() + options.limit) {
  const Channel out = make_channel(false, 0);
  const Channel err = make_channel(options.terminal, options.terminal_columns);
  // Memory must be allocated before the fork.
  std::vector<std::string> arguments = command;
  std::map<std::string, std::string> changes = options.environment;
  if (options.terminal) changes.emplace("TERM", "xterm");
  std::vector<std::string> environment = merged_environment(changes);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> environment_pointers = pointers(environment);
  pid_ = fork();
  if (pid_ == 0) {
    become(argument_pointers.data(), environment_pointers.data(), options, out.write, err.write);
  }
  const int fork_error = errno;
  close(out.write);
  close(err.write);
  streams_[0].fd = out.read;
  streams_[1].fd = err.read;
  if (pid_ < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
}

Program::~Program() {
  if (!reaped_ && pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (const Stream& stream : streams_) {
    if (stream.fd >= 0) close(stream.fd);
  }
}

bool Program::wait_until(const std::function<bool()>& condition) {
  while (true) {
    if (condition()) return true;
    if (has_ended()) return condition();
    read_for(5ms);
  }
}

Finished Program::wait() {
  while (!has_ended()) read_for(50ms);
  // Reads the rest of the pipes. Must not block if a grandchild keeps a pipe open.
  while (streams_[0].fd >= 0 || streams_[1].fd >= 0) {
    const std::size_t before = out().size() + err().size();
    read_for(0ms);
    if (out().size() + err().size() == before) break;
  }
  Finished finished{.timed_out = timed_out_, .out = out(), .err = err()};
  if (WIFEXITED(status_)) finished.exit_code = WEXITSTATUS(status_);
  if (WIFSIGNALED(status_)) finished.signal = WTERMSIG(status_);
  return finished;
}

void Program::send(int signal) const {
  if (!reaped_) kill(pid_, signal);
}

void Program::read_for(milliseconds patience) {
  std::array<pollfd, 2> waits{};
  for (std::size_t i = 0; i < waits.size(); ++i) {
    waits[i] = {.fd = streams_[i].fd, .events = POLLIN, .revents = 0};
  }
  if (poll(waits.data(), waits.size(), static_cast<int>(patience.count())) <= 0) return;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].revents != 0) read_some(streams_[i]);
  }
}

void Program::read_some(Stream& stream) {
  std::array<char, 65536> buffer;
  const ssize_t n = read(stream.fd, buffer.data(), buffer.size());
  if (n > 0) {
    stream.text.append(buffer.data(), static_cast<std::size_t>(n));
  } else if (n == 0 || errno != EINTR) {  // EIO: the terminal's other end is closed
    close(std::exchange(stream.fd, -1));
  }
}

bool Program::has_ended() {
  if (reaped_) return true;
  if (std::chrono::steady_clock::now() >= deadline_) {
    timed_out_ = true;
    kill(pid_, SIGKILL);
    reaped_ = waitpid(pid_, &status_, 0) == pid_;
    return true;
  }
  reaped_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return reaped_;
}

std::vector<std::string> troupe_command(std::vector<std::string> arguments) {
  const char* const elsewhere = std::getenv("TROUPE_PROGRAM");
  arguments.insert(arguments.begin(), elsewhere != nullptr ? elsewhere : TROUPE_PROGRAM);
  return arguments;
}

Finished run_troupe(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  return Program(troupe_command(arguments), options).wait();
}

}  // namespace troupe::testing
