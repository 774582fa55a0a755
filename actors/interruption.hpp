// The request to end a run early, and how long what is under way may still take.
#pragma once

#include "core/base/time.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace troupe {

// A run that is interrupted waits this long for the kernels and transfers under way.
inline constexpr Duration interrupt_grace = std::chrono::milliseconds(500);

// Call from one thread only.
class Interruption {
 public:
  // `flag`: becomes true once the run shall end; any thread or signal handler may set it. Null:
  // never.
  explicit Interruption(const std::atomic<bool>* flag, Duration grace = interrupt_grace)
      : flag_(flag), grace_(grace) {}

  bool has_come() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
  // Whether the time that work under way has is over. It begins with the first call after the
  // interruption has come.
  bool is_grace_over() {
    if (!has_come()) return false;
    const auto now = Clock::now();
    since_ = std::min(since_, now);
    return now - since_ >= grace_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  const std::atomic<bool>* flag_;
  Duration grace_;
  Clock::time_point since_ = Clock::time_point::max();
};

}  // namespace troupe
