#include "core/base/saturating.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(saturating)
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

BOOST_AUTO_TEST_CASE(sums_that_fit_are_exact_and_others_are_the_largest_number) {
  BOOST_TEST(add_sat(2, 3) == 5U);
  BOOST_TEST(add_sat(largest - 1, 1) == largest);
  BOOST_TEST(add_sat(largest, 1) == largest);
  BOOST_TEST(add_sat(1, largest) == largest);
  BOOST_TEST(add_sat(largest, largest) == largest);
}

BOOST_AUTO_TEST_CASE(products_that_fit_are_exact_and_others_are_the_largest_number) {
  BOOST_TEST(mul_sat(6, 7) == 42U);
  BOOST_TEST(mul_sat(0, largest) == 0U);
  BOOST_TEST(mul_sat(largest, 0) == 0U);
  BOOST_TEST(mul_sat(largest, 1) == largest);
  BOOST_TEST(mul_sat(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1) ==
             largest - (std::uint64_t{1} << 32) + 1);
  BOOST_TEST(mul_sat(std::uint64_t{1} << 32, std::uint64_t{1} << 32) == largest);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
