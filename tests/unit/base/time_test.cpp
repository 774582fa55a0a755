#include "core/base/time.hpp"

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

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
