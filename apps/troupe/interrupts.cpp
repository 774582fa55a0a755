#include "apps/troupe/interrupts.hpp"

#include <csignal>

namespace troupe {
namespace {

std::atomic<bool> has_come = false;

extern "C" void on_signal(int signal) {
  has_come = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& interrupted() {
  return has_come;
}

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

}  // namespace troupe
