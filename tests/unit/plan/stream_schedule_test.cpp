#include "core/plan/policies/stream_schedule.hpp"

#include "core/base/random.hpp"
#include "tests/support/seeds.hpp"

#include <algorithm>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(stream_schedule)
namespace {

using namespace std::chrono_literals;

// The same by its definition: looks at one busy interval after the other.
class PlainSchedule {
 public:
  Duration earliest(Duration ready, Duration length) const {
    Duration start = ready;
    for (const Interval& busy : busy_) {
      if (busy.end <= start) continue;
      if (busy.start >= start + length) break;
      start = busy.end;
    }
    return start;
  }
  void take(Duration start, Duration length) {
    busy_.push_back({start, start + length});
    std::sort(busy_.begin(), busy_.end(), [](const Interval& a, const Interval& b) {
      return std::pair(a.start, a.end) < std::pair(b.start, b.end);
    });
  }

 private:
  struct Interval {
    Duration start;
    Duration end;
  };
  std::vector<Interval> busy_;
};

// Busy from 10 to 20 and from 30 to 40.
StreamSchedule two_intervals() {
  StreamSchedule stream;
  stream.take(30ns, 10ns);
  stream.take(10ns, 10ns);
  return stream;
}

BOOST_AUTO_TEST_CASE(an_empty_stream_is_free_at_any_time) {
  const StreamSchedule stream;
  BOOST_TEST((stream.earliest(0ns, 5ns) == 0ns));
  BOOST_TEST((stream.earliest(7ns, 0ns) == 7ns));
  BOOST_TEST((stream.earliest(longest_duration, longest_duration) == longest_duration));
}

BOOST_AUTO_TEST_CASE(the_first_gap_that_is_long_enough_is_found_and_one_that_fits_exactly_is) {
  const StreamSchedule stream = two_intervals();
  BOOST_TEST((stream.earliest(0ns, 10ns) == 0ns));
  BOOST_TEST((stream.earliest(0ns, 11ns) == 40ns));
  BOOST_TEST((stream.earliest(1ns, 10ns) == 20ns));
  BOOST_TEST((stream.earliest(20ns, 10ns) == 20ns));
  BOOST_TEST((stream.earliest(21ns, 10ns) == 40ns));
  BOOST_TEST((stream.earliest(21ns, 9ns) == 21ns));
  BOOST_TEST((stream.earliest(35ns, 1ns) == 40ns));
  BOOST_TEST((stream.earliest(50ns, 100ns) == 50ns));
}

BOOST_AUTO_TEST_CASE(an_interval_without_length_starts_at_the_end_of_the_one_under_way) {
  StreamSchedule stream = two_intervals();
  stream.take(20ns, 5ns);  // right after the first one
  BOOST_TEST((stream.earliest(10ns, 0ns) == 10ns));
  BOOST_TEST((stream.earliest(11ns, 0ns) == 20ns));
  BOOST_TEST((stream.earliest(20ns, 0ns) == 20ns));
  BOOST_TEST((stream.earliest(21ns, 0ns) == 25ns));
  BOOST_TEST((stream.earliest(27ns, 0ns) == 27ns));
}

BOOST_AUTO_TEST_CASE(an_interval_without_length_divides_its_gap) {
  StreamSchedule stream = two_intervals();
  stream.take(25ns, 0ns);
  stream.take(50ns, 0ns);
  BOOST_TEST((stream.earliest(15ns, 10ns) == 40ns));
  BOOST_TEST((stream.earliest(15ns, 5ns) == 20ns));
  BOOST_TEST((stream.earliest(21ns, 5ns) == 25ns));
  BOOST_TEST((stream.earliest(45ns, 10ns) == 50ns));
}

// Short and long intervals, of length 0 too, among many and few others. Each schedule knows how
// short they can be.
BOOST_AUTO_TEST_CASE(it_finds_what_a_search_through_all_busy_intervals_finds) {
  for (std::uint64_t seed = 0; seed < testing::usual_seeds(60); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      const std::uint64_t range = 1 + random.below(2000);
      const std::uint64_t length_max = 1 + random.below(20);
      const std::uint64_t shortest = random.below(length_max);
      StreamSchedule stream(Duration{shortest});
      PlainSchedule plain;
      for (int i = 0; i < 300; ++i) {
        const Duration ready(random.below(range));
        const Duration length(shortest + random.below(length_max - shortest));
        const Duration start = plain.earliest(ready, length);
        BOOST_TEST_REQUIRE((stream.earliest(ready, length) == start));
        if (random.below(4) == 0) continue;
        stream.take(start, length);
        plain.take(start, length);
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
