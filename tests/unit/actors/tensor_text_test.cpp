// Tensors as text.
#include "tests/unit/actors/session_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(tensor_text)
namespace {

Session on_two_devices() {
  return Session(testing::session_machine(), {.ops = testing::session_ops()});
}

// 0, 1, 2, … in this shape.
Tensor counting(Session& session, const Shape& shape) {
  std::vector<std::int32_t> elements(static_cast<std::size_t>(shape.elements()));
  std::iota(elements.begin(), elements.end(), 0);
  return session.tensor(elements, shape);
}

BOOST_AUTO_TEST_CASE(each_axis_has_a_pair_of_brackets_and_rows_stand_below_each_other) {
  Session session = on_two_devices();
  BOOST_TEST(counting(session, {}).text() == "0");
  BOOST_TEST(counting(session, {3}).text() == "[0 1 2]");
  BOOST_TEST(counting(session, {1, 1}).text() == "[[0]]");
  BOOST_TEST(counting(session, {2, 6}).text() ==
             "[[ 0  1  2  3  4  5]\n"
             " [ 6  7  8  9 10 11]]");
  BOOST_TEST(counting(session, {2, 2, 2}).text() ==
             "[[[0 1]\n"
             "  [2 3]]\n"
             "\n"
             " [[4 5]\n"
             "  [6 7]]]");
}

BOOST_AUTO_TEST_CASE(elements_have_their_signs_and_six_digits) {
  Session session = on_two_devices();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  BOOST_TEST(session.tensor({0.1F, -2.F, 1e-20F, 1.F / 3}, {2, 2}).text() ==
             "[[     0.1       -2]\n"
             " [   1e-20 0.333333]]");
  BOOST_TEST(session.tensor({1e300, -0.0}, {2}).text() == "[1e+300     -0]");
  BOOST_TEST(session.tensor({infinite, -infinite, -std::nanf("")}, {3}).text() ==
             "[ inf -inf  nan]");
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  BOOST_TEST(session.tensor({least, std::int64_t{-1}}, {2}).text() ==
             "[-9223372036854775808                   -1]");
}

BOOST_AUTO_TEST_CASE(long_rows_and_large_tensors_are_shown_by_their_ends) {
  Session session = on_two_devices();
  BOOST_TEST(counting(session, {7}).text() == "[0 1 2 3 4 5 6]");
  BOOST_TEST(counting(session, {20}).text() ==
             "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19]");
  BOOST_TEST(counting(session, {21}).text() == "[ 0  1  2 ... 18 19 20]");
  BOOST_TEST(counting(session, {1'000, 2}).text() ==
             "[[   0    1]\n"
             " [   2    3]\n"
             " [   4    5]\n"
             " ...\n"
             " [1994 1995]\n"
             " [1996 1997]\n"
             " [1998 1999]]");
  const std::string square = counting(session, {100, 100}).text();
  BOOST_TEST(square.starts_with("[[   0    1    2 ...   97   98   99]\n"));
  BOOST_TEST(std::ranges::count(square, '\n') == 6);
  BOOST_TEST(counting(session, {7, 21})
                 .text()
                 .starts_with("[[  0   1   2 ...  18  19  20]\n"
                              " [ 21  22  23 ...  39  40  41]\n"));
  BOOST_TEST(counting(session, {1'000, 1, 2}).text() ==
             "[[[   0    1]]\n\n [[   2    3]]\n\n [[   4    5]]\n\n ...\n\n"
             " [[1994 1995]]\n\n [[1996 1997]]\n\n [[1998 1999]]]");
  // As many rows as there are, of at most 1,000 elements.
  BOOST_TEST(std::ranges::count(counting(session, {500, 2}).text(), '\n') == 499);
}

BOOST_AUTO_TEST_CASE(a_stream_takes_a_tensor_wherever_it_is) {
  Session session = on_two_devices();
  std::ostringstream out;
  const Tensor x = session.tensor({1.F, 2.F}, {2});
  out << "x: " << x << ", " << (x > 1.5) << ", " << (x + x).to("mem1");
  BOOST_TEST(out.str() == "x: [1 2], [0 1], [2 4]");
}

BOOST_AUTO_TEST_CASE(a_simulation_says_what_the_tensor_is) {
  Session session(testing::session_machine(), {.mode = Mode::simulate});
  BOOST_TEST(matmul(session.uniform({2, 3}), session.uniform({3, 4})).text() == "float32 [2, 4]");
}

BOOST_AUTO_TEST_CASE(text_of_no_tensor_or_of_one_that_failed_is_an_error) {
  testing::check_error([] { Tensor().text(); }, {"this handle is empty"}, __FILE__, __LINE__);
  Tensor outlives;
  {
    Session session = on_two_devices();
    outlives = counting(session, {2});
  }
  testing::check_error([&] { outlives.text(); }, {"the session of this tensor has ended"});
  Session session = on_two_devices();
  const Tensor failed = session.call("throw_this", {});
  testing::check_error([&] { failed.text(); }, {"the kernel has no paper"});
  std::ostringstream out;
  testing::check_error([&] { out << failed; }, {"the kernel has no paper"});
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
