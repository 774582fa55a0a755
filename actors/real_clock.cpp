#include "actors/real_clock.hpp"

#include "actors/messages.hpp"

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

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

#if defined(__x86_64__)

// Not before all that stands before it is done.
std::uint64_t ticks() {
  _mm_lfence();
  return __rdtsc();
}

// The system takes its own time from the counter only where it runs at one rate, and alike on all
// cores.
bool is_trusted() {
  std::ifstream in("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return in >> source && source == "tsc";
}

struct Reading {
  std::uint64_t ticks;
  std::int64_t ns;
};

// Both clocks at one moment: the closest of some tries.
Reading read_both() {
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
  const Reading first = read_both();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
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
  return Instant{Duration{steady_ns()}};
}

Instant RealClock::instant_after(Instant earlier) const {
#if defined(__x86_64__)
  if (counter_.ns_per_tick > 0) return std::max(earlier, at(__rdtsc()));
#endif
  return std::max(earlier, Instant{Duration{steady_ns()}});
}

void RealClock::start_timer(Duration delay, TimerListener& listener, std::uint32_t lane) {
  system_.clock().schedule_message(
      system_.clock().now() + delay, listener.handle(),
      caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, LaneDone{lane}));
}

}  // namespace troupe
