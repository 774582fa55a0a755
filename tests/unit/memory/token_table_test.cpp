#include "core/memory/token_table.hpp"

#include <algorithm>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(token_table)
namespace {

constexpr ReplicaId x{7};
constexpr ReplicaId y{23};  // in the same part of the table

bool is_same(std::vector<Token> a, std::vector<Token> b) {
  const auto before = [](const Token& l, const Token& r) { return l.queue < r.queue; };
  std::sort(a.begin(), a.end(), before);
  std::sort(b.begin(), b.end(), before);
  return a == b;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_reader_waits_for_all_that_makes_its_tensor) {
  TokenTable table;
  table.add(x, {.queue = 0, .position = 4});
  table.add(x, {.queue = 1, .position = 9});
  table.add(y, {.queue = 2, .position = 1});
  std::vector<Token> after;
  table.append(x, after);
  BOOST_TEST(is_same(after, {{0, 4}, {1, 9}}));
}

// A tensor may be made in parts, in the order of a queue.
BOOST_AUTO_TEST_CASE(of_each_queue_the_latest_token_of_a_tensor_stays) {
  TokenTable table;
  table.add(x, {.queue = 0, .position = 6});
  table.add(x, {.queue = 0, .position = 5});
  table.add(y, {.queue = 0, .position = 7});
  std::vector<Token> after;
  table.append(x, after);
  BOOST_TEST(is_same(after, {{0, 6}}));
  table.append(x, after);  // once more
  BOOST_TEST(is_same(after, {{0, 6}}));
}

// Work of a queue that comes first in its order may fail, and what comes later succeed.
BOOST_AUTO_TEST_CASE(tokens_of_several_tensors_stay_though_their_queue_is_the_same) {
  TokenTable table;
  table.add(x, {.queue = 0, .position = 5});
  table.add(y, {.queue = 0, .position = 6});
  std::vector<Token> after;
  table.append(x, after);
  table.append(y, after);
  BOOST_TEST((after == std::vector<Token>{{0, 5}, {0, 6}}));
}

BOOST_AUTO_TEST_CASE(there_is_nothing_to_wait_for_once_a_tensor_is_freed) {
  TokenTable table;
  table.add(x, {.queue = 0, .position = 4});
  table.add(y, {.queue = 0, .position = 5});
  table.add(y, Token{});
  table.forget(x);
  std::vector<Token> after;
  table.append(x, after);
  BOOST_TEST(after.empty());
  table.append(y, after);
  BOOST_TEST(is_same(after, {{0, 5}}));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
