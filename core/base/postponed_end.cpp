#include "core/base/postponed_end.hpp"

#include <atomic>
#include <csignal>

namespace troupe {
namespace {

std::atomic<int> works = 0;
std::atomic<int> postponed_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

PostponedEnd::PostponedEnd() {
  ++works;
}

PostponedEnd::~PostponedEnd() {
  if (--works > 0) return;
  if (const int signal = postponed_signal.exchange(0)) raise(signal);
}

bool postpone_end(int signal) noexcept {
  // In this order: work that ends meanwhile sees the signal, or this sees its end.
  postponed_signal = signal;
  if (works > 0) return true;
  postponed_signal = 0;
  return false;
}

}  // namespace troupe
