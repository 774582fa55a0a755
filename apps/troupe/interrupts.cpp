#include "apps/troupe/interrupts.hpp"

#include "core/base/temporary_path.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include <sys/prctl.h>
#include <unistd.h>

namespace troupe {
namespace {

std::atomic<bool> is_catching = false;
std::atomic<bool> has_come = false;
std::atomic<bool> is_time_limited = false;
std::atomic<int> latest_signal = SIGALRM;
int parent_gone_signal = 0;  // that the kernel sends when the parent is gone; 0: none

constexpr unsigned time_left_s = 1;

extern "C" void end_at_once(int signal) {
  remove_temporary_paths();
  if (signal == parent_gone_signal) {
    constexpr std::string_view line = "troupe: ended, as the process that has started it is gone\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
  }
  std::signal(signal, SIG_DFL);
  raise(signal);  // delivered when this handler returns
}

extern "C" void on_interrupt(int signal) {
  const int error = errno;
  latest_signal = signal;
  if (!is_catching || (has_come.exchange(true) && signal != SIGHUP)) end_at_once(signal);
  if (is_time_limited) alarm(time_left_s);
  errno = error;
}

extern "C" void on_alarm(int) {
  end_at_once(latest_signal);
}

extern "C" void on_warning(int signal) {
  if (!is_catching || signal != parent_gone_signal) return end_at_once(signal);
  latest_signal = signal;
  alarm(time_left_s);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void handle_signals() {
  prctl(PR_GET_PDEATHSIG, &parent_gone_signal);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle(signal, on_interrupt);
  handle(SIGALRM, on_alarm);
  for (const int signal : {SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2}) handle(signal, on_warning);
  for (const int signal : {SIGPIPE, SIGXFSZ}) handle(signal, SIG_IGN);
}

void catch_interrupts() {
  is_catching = true;
}

void limit_interrupted_time() {
  is_time_limited = true;
  if (has_come) alarm(time_left_s);
}

const std::atomic<bool>& interrupted() {
  return has_come;
}

void leave(int exit_code) {
  remove_temporary_paths();
  std::_Exit(exit_code);
}

}  // namespace troupe
