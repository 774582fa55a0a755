#include "core/base/suggest.hpp"

#include <array>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {
constexpr std::array<std::string_view, 4> ops = {"uniform", "matmul", "add", "relu"};
}

BOOST_AUTO_TEST_SUITE(suggestions)

BOOST_AUTO_TEST_CASE(the_name_with_the_fewest_edits_is_nearest) {
  BOOST_TEST(nearest("matmull", ops) == "matmul");
  BOOST_TEST(nearest("matul", ops) == "matmul");
  BOOST_TEST(nearest("unifrom", ops) == "uniform");
}

BOOST_AUTO_TEST_CASE(two_swapped_letters_are_one_edit) {
  constexpr std::array<std::string_view, 2> names = {"shall", "shaep"};
  BOOST_TEST(nearest("shape", names) == "shaep");
}

BOOST_AUTO_TEST_CASE(case_weighs_less_than_other_differences) {
  constexpr std::array<std::string_view, 3> units = {"kB/s", "MB/s", "GB/s"};
  BOOST_TEST(nearest("gb/s", units) == "GB/s");
  BOOST_TEST(nearest("mb/s", units) == "MB/s");
}

BOOST_AUTO_TEST_CASE(a_name_unlike_all_others_has_no_nearest_one) {
  BOOST_TEST(nearest("convolution", ops) == "");
  BOOST_TEST(nearest("x", ops) == "");
  BOOST_TEST(nearest("", ops) == "");
  BOOST_TEST(nearest(std::string(100'000, 'a'), ops) == "");
}

BOOST_AUTO_TEST_CASE(a_suggestion_is_the_nearest_name_or_all_of_them) {
  BOOST_TEST(suggestion("rellu", ops) == "did you mean 'relu'?");
  BOOST_TEST(suggestion("convolution", ops) == "one of: uniform, matmul, add, relu");
  BOOST_TEST(suggestion("add", {}) == "there are none");
}

BOOST_AUTO_TEST_CASE(a_long_listing_is_cut) {
  const std::vector<std::string_view> many(100, "abcdefgh");
  const std::string text = suggestion("zzzzzzzzzzzz", many);
  BOOST_TEST(text.ends_with(", … (100 in all)"));
  BOOST_TEST(text.size() < 200U);
}

BOOST_AUTO_TEST_SUITE_END()
