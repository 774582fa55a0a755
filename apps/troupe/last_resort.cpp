#include "apps/troupe/last_resort.hpp"

#include "apps/troupe/commands.hpp"
#include "core/base/temporary_path.hpp"

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include <sys/resource.h>
#include <unistd.h>

namespace troupe {
namespace {

std::terminate_handler default_handler = nullptr;

// Several threads may find no memory at once.
std::atomic_flag is_ending = ATOMIC_FLAG_INIT;

constexpr std::string_view memory_line =
    "troupe: there is not enough memory; raise the limit (ulimit -v)\n";
constexpr std::string_view pages_line =
    "troupe: a mapped file has become shorter, or can't be read any more (or /dev/shm is full); "
    "write a file anew under another name, and rename it when it is complete\n";

void say(std::string_view line) noexcept {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

// One thread speaks for all.
[[noreturn]] void end_with(std::string_view line) noexcept {
  while (is_ending.test_and_set()) pause();
  remove_temporary_paths();
  say(line);
  _exit(exit_failed);
}

[[noreturn]] void on_terminate() {
  if (std::current_exception() != nullptr) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      end_with(memory_line);
    } catch (...) {  // a bug
    }
  }
  default_handler();
  std::abort();
}

void on_bus_error(int signal, siginfo_t* why, void*) {
  const bool is_page_gone = why->si_code == BUS_ADRERR || why->si_code == BUS_OBJERR;
  if (is_page_gone) end_with(pages_line);
  remove_temporary_paths();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

[[gnu::noinline]] void grow_stack() {
  constexpr std::size_t page_bytes = 4096;
  constexpr rlim_t stack_bytes_min = 1 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur < stack_bytes_min) return;
  volatile std::byte room[64 * page_bytes];
  for (std::size_t i = sizeof room; i >= page_bytes; i -= page_bytes) room[i - 1] = std::byte{0};
}

void handle_uncaught_bad_alloc() {
  default_handler = std::set_terminate(on_terminate);
}

void handle_lost_pages() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

void print_out_of_memory() noexcept {
  say(memory_line);
}

}  // namespace troupe
