#include "core/base/number.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(numbers)

BOOST_AUTO_TEST_CASE(a_number_is_read_up_to_what_follows_it) {
  const Number number = leading_number("14.4 TFLOP/s");
  BOOST_TEST((number.status == NumberStatus::ok));
  BOOST_TEST(number.value == 14.4);
  BOOST_TEST(number.length == 4U);
  BOOST_TEST(leading_number("-1e3x").value == -1000.0);
  BOOST_TEST(leading_number("-1e3x").length == 4U);
  BOOST_TEST(leading_number(".5").value == 0.5);
  BOOST_TEST(leading_number("7.").length == 2U);
}

BOOST_AUTO_TEST_CASE(what_does_not_begin_with_a_finite_number_is_none) {
  for (const char* text : {"", " 1", "x", "+1", "-", ".", "inf", "-inf", "nan", "e3"}) {
    BOOST_TEST((leading_number(text).status == NumberStatus::no_number), "'" << text << "'");
  }
}

BOOST_AUTO_TEST_CASE(numbers_beyond_a_double_are_told_apart_from_those_too_close_to_zero) {
  const std::string zeros(400, '0');
  for (const std::string& text : {std::string("1e400"), std::string("-1e400 s"), "1" + zeros,
                                  "1" + zeros + "e-5", std::string("1e99999999999")}) {
    BOOST_TEST((leading_number(text).status == NumberStatus::too_large), "'" << text << "'");
  }
  for (const std::string& text :
       {std::string("1e-400"), std::string("-1e-400 s"), "0." + zeros + "1", "0." + zeros + "1e5",
        std::string("1e-99999999999")}) {
    BOOST_TEST((leading_number(text).status == NumberStatus::too_near_zero), "'" << text << "'");
  }
  BOOST_TEST((leading_number("0e-400").status == NumberStatus::ok));
  BOOST_TEST(leading_number("1e-310").value == 1e-310);
  BOOST_TEST(leading_number("1.7e308").value == 1.7e308);
}

BOOST_AUTO_TEST_CASE(separators_within_a_number_are_seen) {
  for (const char* text : {"1,000", "1,5 GB/s", "1.000.000", "1_000", "1'000"}) {
    BOOST_TEST((leading_number(text).status == NumberStatus::has_separators), "'" << text << "'");
  }
  BOOST_TEST((leading_number("1, 2").status == NumberStatus::ok));
}

BOOST_AUTO_TEST_SUITE_END()
