#include "core/base/suggest.hpp"

#include <array>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(suggestions)
namespace {
constexpr std::array<std::string_view, 4> ops = {"uniform", "matmul", "add", "relu"};
}

BOOST_AUTO_TEST_CASE(the_name_with_the_fewest_edits_is_nearest) {
  BOOST_TEST(nearest("matmull", ops) == "matmul");
  BOOST_TEST(nearest("matul", ops) == "matmul");
  BOOST_TEST(nearest("unifrom", ops) == "uniform");
}

BOOST_AUTO_TEST_CASE(a_long_listing_ends_early_and_says_how_many_there_are) {
  BOOST_TEST(listing(ops) == "uniform, matmul, add, relu");
  const std::vector<std::string_view> many(1000, "cpu0");
  BOOST_TEST(listing(many).ends_with("cpu0, … (1000 in all)"));
  BOOST_TEST(listing(many).size() < 300U);
}

BOOST_AUTO_TEST_CASE(two_swapped_letters_are_one_edit) {
  constexpr std::array<std::string_view, 2> names = {"shall", "shaep"};
  BOOST_TEST(nearest("shape", names) == "shaep");
}

BOOST_AUTO_TEST_CASE(case_weighs_less_than_other_differences) {
  constexpr std::array<std::string_view, 3> names = {"cpu1", "gpu0", "GPU1"};
  BOOST_TEST(nearest("gpu1", names) == "GPU1");
  BOOST_TEST(nearest("Gpu0", names) == "gpu0");
  BOOST_TEST(nearest("MATMUL", ops) == "matmul");
}

BOOST_AUTO_TEST_CASE(a_nearest_name_differs_by_an_edit_for_every_three_letters) {
  constexpr std::array<std::string_view, 3> names = {"in", "tasks", "bandwidth"};
  BOOST_TEST(nearest("n", names) == "in");
  BOOST_TEST(nearest("task", names) == "tasks");
  BOOST_TEST(nearest("tak", names) == "");
  BOOST_TEST(nearest("bandwith", names) == "bandwidth");
  BOOST_TEST(nearest("badwit", names) == "bandwidth");
  BOOST_TEST(nearest("badwi", names) == "");
}

BOOST_AUTO_TEST_CASE(a_name_unlike_all_others_has_no_nearest_one) {
  BOOST_TEST(nearest("convolution", ops) == "");
  BOOST_TEST(nearest("x", ops) == "");
  constexpr std::array<std::string_view, 4> patterns = {"dom", "fft", "tree", "no_comm"};
  BOOST_TEST(nearest("foo", patterns) == "");
  BOOST_TEST(nearest("free", patterns) == "tree");
  BOOST_TEST(nearest("fire", patterns) == "");
  constexpr std::array<std::string_view, 2> letters = {"a", "b"};
  BOOST_TEST(nearest("c", letters) == "");
  BOOST_TEST(nearest("B", letters) == "b");
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
