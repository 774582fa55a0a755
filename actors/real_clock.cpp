#include "actors/real_clock.hpp"

#include "actors/messages.hpp"
#include "core/base/steady_now.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace troupe {
namespace {

#if defined(__x86_64__)

std::int64_t steady_ns() {
  return steady_now().time_since_epoch().count();
}

// Reads the counter after all preceding instructions have completed.
std::uint64_t ticks() {
  _mm_lfence();
  return __rdtsc();
}

// The system's clock uses the counter only if its rate is constant and all cores agree.
bool is_trusted() {
  std::ifstream in("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return in >> source && source == "tsc";
}

struct Reading {
  std::uint64_t ticks;
  std::int64_t ns;
};

// Reads both clocks at the same moment, as nearly as 32 attempts allow.
Reading read_both() noexcept {
  Reading best{};
  std::uint64_t closest = ~std::uint64_t{0};
  for (int i = 0; i < 32; ++i) {
    const std::uint64_t before = ticks();
    const std::int64_t ns = steady_ns();
    const std::uint64_t between = ticks() - before;
    if (between >= closest) continue;
    closest = between;
    best = {before + between / 2, ns};
  }
  return best;
}

const Reading at_load = read_both();

#endif

}  // namespace

RealClock::RealClock(caf::actor_system& system)
    : system_(system), counter_([] {
        static const Counter counter = measure();
        return counter;
      }()) {}

RealClock::Counter RealClock::measure() {
#if defined(__x86_64__)
  if (!is_trusted()) return {};
  // What a program does before the first run, such as reading files, often takes that long. In a
  // longer time the machine may have slept, and one of the clocks with it.
  constexpr std::int64_t interval_ns = 10'000'000;
  constexpr std::int64_t interval_max_ns = 1'000'000'000;
  const bool is_recent = steady_ns() - at_load.ns < interval_max_ns;
  const Reading first = is_recent ? at_load : read_both();
  const std::int64_t left_ns = first.ns + interval_ns - steady_ns();
  if (left_ns > 0) std::this_thread::sleep_for(Duration{left_ns});
  const Reading last = read_both();
  return {last.ticks, last.ns,
          static_cast<double>(last.ns - first.ns) / static_cast<double>(last.ticks - first.ticks)};
#else
  return {};
#endif
}

inline Instant RealClock::at(std::uint64_t ticks) const {
  const auto since = static_cast<double>(static_cast<std::int64_t>(ticks - counter_.base_ticks));
  return Instant{
      Duration{counter_.base_ns + static_cast<std::int64_t>(since * counter_.ns_per_tick)}};
}

Instant RealClock::instant() const {
#if defined(__x86_64__)
  if (counter_.ns_per_tick > 0) return at(ticks());
#endif
  return steady_now();
}

Instant RealClock::instant_after(Instant earlier) const {
#if defined(__x86_64__)
  if (counter_.ns_per_tick > 0) return std::max(earlier, at(__rdtsc()));
#endif
  return std::max(earlier, steady_now());
}

void RealClock::start_timer(Duration delay, TimerListener& listener, std::uint32_t slot) {
  system_.clock().schedule_message(
      system_.clock().now() + delay, listener.handle(),
      caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, SlotDone{slot}));
}

}  // namespace troupe
