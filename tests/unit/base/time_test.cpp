#include "core/base/time.hpp"

#include <cmath>
#include <limits>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(time)
namespace {

BOOST_AUTO_TEST_CASE(seconds_become_the_nearest_nanosecond) {
  BOOST_TEST((from_seconds(0) == Duration{0}));
  BOOST_TEST((from_seconds(1.4e-9) == Duration{1}));
  BOOST_TEST((from_seconds(1.6e-9) == Duration{2}));
  BOOST_TEST((from_seconds(2.5) == std::chrono::milliseconds(2500)));
  BOOST_TEST(seconds(Duration{2'500'000'000}) == 2.5);
}

BOOST_AUTO_TEST_CASE(what_would_take_longer_than_any_run_takes_as_long_as_that) {
  BOOST_TEST((from_seconds(1e300) == longest_duration));
  BOOST_TEST((from_seconds(std::numeric_limits<double>::infinity()) == longest_duration));
}

BOOST_AUTO_TEST_CASE(a_time_in_any_unit_is_rounded_and_none_below_0) {
  using std::chrono::duration;
  BOOST_TEST((from_time(std::chrono::milliseconds(2500)) == from_seconds(2.5)));
  BOOST_TEST((from_time(duration<float>(0.5F)) == from_seconds(0.5)));
  BOOST_TEST((from_time(std::chrono::hours::max()) == longest_duration));
  BOOST_TEST((from_time(std::chrono::nanoseconds(-1)) == Duration{0}));
  BOOST_TEST((from_time(duration<double>(-1e300)) == Duration{0}));
  BOOST_TEST((from_time(duration<double>(std::nan(""))) == Duration{0}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
