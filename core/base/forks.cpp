#include "core/base/forks.hpp"

#include <atomic>

#include <pthread.h>

namespace troupe {
namespace {

std::atomic<std::uint32_t> forks = 0;

}  // namespace

std::uint32_t fork_count() {
  // Fails for lack of memory only: then forks aren't known.
  static const int failed = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(failed);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace troupe
