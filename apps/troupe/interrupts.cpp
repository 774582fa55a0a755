#include "apps/troupe/interrupts.hpp"

#include "core/base/temporary_path.hpp"

#include <cerrno>
#include <csignal>

namespace troupe {
namespace {

std::atomic<bool> is_catching = false;
std::atomic<bool> has_come = false;

extern "C" void end_at_once(int signal) {
  remove_temporary_paths();
  std::signal(signal, SIG_DFL);
  raise(signal);  // delivered when this handler returns
}

extern "C" void on_interrupt(int signal) {
  const int error = errno;
  if (!is_catching || (has_come.exchange(true) && signal != SIGHUP)) end_at_once(signal);
  errno = error;
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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle(signal, on_interrupt);
  for (const int signal : {SIGQUIT, SIGXCPU}) handle(signal, end_at_once);
  for (const int signal : {SIGPIPE, SIGXFSZ}) handle(signal, SIG_IGN);
}

void catch_interrupts() {
  is_catching = true;
}

const std::atomic<bool>& interrupted() {
  return has_come;
}

}  // namespace troupe
