#include "core/base/error.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(an_error_says_where_what_and_what_to_do) {
  const Error error = usage_error(SourcePlace{"a.yaml", 3, 7}, "x is wrong", "write y");
  BOOST_TEST(error.what() == "a.yaml:3:7: x is wrong; write y");
  BOOST_TEST((error.kind() == ErrorKind::usage));
}

BOOST_AUTO_TEST_CASE(a_place_without_a_line_is_the_whole_file) {
  BOOST_TEST(usage_error(SourcePlace{"a.yaml", 0, 0}, "it is empty").what() ==
             "a.yaml: it is empty");
}

BOOST_AUTO_TEST_CASE(a_place_is_given_to_an_error_that_has_none) {
  const Error bare = run_error("the disk is full");
  BOOST_TEST(bare.what() == "the disk is full");
  const Error placed = bare.at(SourcePlace{"a.yaml", 1, 2});
  BOOST_TEST(placed.what() == "a.yaml:1:2: the disk is full");
  BOOST_TEST((placed.kind() == ErrorKind::failed));
  BOOST_TEST(placed.at(SourcePlace{"b.yaml", 9, 9}).what() == "a.yaml:1:2: the disk is full");
}

BOOST_AUTO_TEST_SUITE_END()
