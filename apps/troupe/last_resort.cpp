#include "apps/troupe/last_resort.hpp"

#include "apps/troupe/commands.hpp"
#include "core/base/temporary_path.hpp"

#include <atomic>
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

// Several threads may find no memory at once: one of them speaks for all.
std::atomic_flag is_ending = ATOMIC_FLAG_INIT;

[[noreturn]] void on_terminate() {
  if (std::current_exception() != nullptr) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      while (is_ending.test_and_set()) pause();
      remove_temporary_paths();
      print_out_of_memory();
      _exit(exit_failed);
    } catch (...) {  // a bug
    }
  }
  default_handler();
  std::abort();
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

void print_out_of_memory() noexcept {
  constexpr std::string_view text =
      "troupe: there is not enough memory; raise the limit (ulimit -v)\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace troupe
