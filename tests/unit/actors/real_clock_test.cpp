#include "actors/real_clock.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct RealTime {
  caf::actor_system_config config;
  caf::actor_system system{config};
  RealClock clock{system};
};

Instant steady() {
  return Instant{std::chrono::steady_clock::now().time_since_epoch()};
}

BOOST_FIXTURE_TEST_SUITE(real_clock, RealTime)

BOOST_AUTO_TEST_CASE(the_real_clock_shows_what_the_steady_clock_shows) {
  for (const Instant end = steady() + 100ms; steady() < end;) {
    const Instant before = steady();
    const Instant shown = clock.instant();
    const Instant after = steady();
    // The counter's rate was measured: after a second it may be off by some microseconds.
    BOOST_REQUIRE((shown >= before - 1ms));
    BOOST_REQUIRE((shown <= after + 1ms));
  }
}

BOOST_AUTO_TEST_CASE(a_reading_after_another_is_not_before_it) {
  Instant latest = clock.instant();
  for (int i = 0; i < 100'000; ++i) {
    const Instant shown = clock.instant_after(latest);
    BOOST_REQUIRE((shown >= latest));
    latest = shown;
  }
  BOOST_TEST((latest <= clock.instant()));
  const Instant ahead = latest + 1h;
  BOOST_TEST((clock.instant_after(ahead) == ahead));
}

BOOST_AUTO_TEST_CASE(clocks_of_one_process_agree) {
  const RealClock other(system);
  const Instant before = clock.instant();
  const Instant shown = other.instant();
  BOOST_TEST((shown >= before));
  BOOST_TEST((shown <= clock.instant()));
}

BOOST_AUTO_TEST_CASE(a_reading_received_from_another_thread_lies_in_the_past) {
  constexpr int turns = 20'000;
  std::atomic<std::int64_t> latest = 0;
  std::atomic<int> turn = 0;
  std::atomic<int> backwards = 0;
  const auto take_turns = [&](int self) {
    for (int i = self; i < turns; i += 2) {
      while (turn.load(std::memory_order_acquire) != i) std::this_thread::yield();
      const std::int64_t shown = clock.instant().time_since_epoch().count();
      if (shown < latest.load(std::memory_order_relaxed)) ++backwards;
      latest.store(shown, std::memory_order_relaxed);
      turn.store(i + 1, std::memory_order_release);
    }
  };
  std::thread other(take_turns, 1);
  take_turns(0);
  other.join();
  BOOST_TEST(backwards == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
