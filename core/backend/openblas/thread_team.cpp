#include "core/backend/openblas/thread_team.hpp"

#include "core/backend/openblas/pinning.hpp"
#include "core/base/assert.hpp"
#include "core/base/relax.hpp"

#include <utility>

namespace troupe {
namespace {

constexpr std::uint32_t open_bit = 0x80000000U;

// Some 10 us: putting a thread to sleep and waking it often takes about as long.
constexpr int usual_spins = 500;
// Some 200 us. The core of a helper that sleeps may take 100 us to wake it, on virtual machines. In
// a row of ops of 140 us, each in two parts, such a helper never got one: it came when the caller
// had begun the second part, and slept again when the next op began.
constexpr int spins_after_too_late = 8000;

// Returns when `value` is no longer `old`.
void spin_then_wait(const std::atomic<std::uint32_t>& value, std::uint32_t old,
                    int spins_max = usual_spins) {
  for (int spins = 0; spins < spins_max; ++spins) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadTeam::ThreadTeam(std::span<const int> helper_cores, std::int64_t widest_team)
    : widest_team_(widest_team) {
  helpers_.reserve(helper_cores.size());
  try {
    for (const int core : helper_cores) {
      helpers_.emplace_back([this, core, number = helpers_.size()] { help(core, number); });
    }
  } catch (...) {
    dismiss();
    throw;
  }
}

ThreadTeam::~ThreadTeam() {
  dismiss();
}

void ThreadTeam::dismiss() {
  stopping_.store(true);
  announced_.fetch_add(1);
  announced_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadTeam::run(std::size_t n, const std::function<void(std::size_t)>& f) {
  if (n <= 1 || helpers_.empty() || working_for_ == this) {
    for (std::size_t i = 0; i < n; ++i) f(i);
    return;
  }
  TROUPE_ASSERT(gate_.load() == 0);
  f_ = &f;
  n_ = n;
  next_.store(0, std::memory_order_relaxed);
  gate_.store(open_bit, std::memory_order_release);
  announced_.fetch_add(1, std::memory_order_release);
  announced_.notify_all();

  take_part();

  // Nothing is left to begin: nobody may come in any more, and those inside finish their parts.
  gate_.fetch_and(~open_bit, std::memory_order_acq_rel);
  for (;;) {
    const std::uint32_t inside = gate_.load(std::memory_order_acquire);
    if (inside == 0) break;
    spin_then_wait(gate_, inside);
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadTeam::help(int core, std::size_t number) {
  if (core != any_core) pin_this_thread({&core, 1});
  std::uint32_t seen = 0;
  int spins = usual_spins;
  for (;;) {
    spin_then_wait(announced_, seen, spins);
    seen = announced_.load(std::memory_order_acquire);
    if (stopping_.load()) return;
    // The job may be over, or a later one than was announced: what counts is the gate.
    spins = usual_spins;
    if (enter()) {
      const bool has_a_part = number + 1 < n_;  // if every thread takes one
      if (!take_part() && has_a_part) spins = spins_after_too_late;
      leave();
    }
  }
}

bool ThreadTeam::take_part() {
  const ThreadTeam* const before = std::exchange(working_for_, this);
  std::size_t taken = 0;
  for (;; ++taken) {
    const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= n_) break;
    try {
      (*f_)(i);
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
      next_.store(n_, std::memory_order_relaxed);
    }
  }
  working_for_ = before;
  return taken > 0;
}

bool ThreadTeam::enter() {
  std::uint32_t gate = gate_.load(std::memory_order_relaxed);
  while ((gate & open_bit) != 0) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void ThreadTeam::leave() {
  // The last one out after the gate was closed lets run() go on.
  if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) gate_.notify_one();
}

}  // namespace troupe
