#include "core/base/sliding_vector.hpp"

#include "core/base/random.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(sliding)
namespace {

using Numbers = std::vector<std::uint64_t>;

Numbers kept(const SlidingVector<std::uint64_t>& s) {
  const auto slice = s.slice(s.first(), s.size() - s.first());
  return {slice.begin(), slice.end()};
}

BOOST_AUTO_TEST_CASE(an_element_keeps_its_index_when_older_ones_are_forgotten) {
  SlidingVector<std::uint64_t> s;
  BOOST_TEST(s.first() == 0U);
  BOOST_TEST(s.size() == 0U);
  for (std::uint64_t i = 0; i < 1000; ++i) s.push_back(7 * i);
  s.forget_before(900);
  BOOST_TEST(s.first() == 900U);
  BOOST_TEST(s.size() == 1000U);
  for (std::size_t i = 900; i < 1000; ++i) BOOST_TEST(s[i] == 7 * i);
  s.push_back(1);
  BOOST_TEST(s[1000] == 1U);
  s[1000] = 2;
  BOOST_TEST(kept(s).back() == 2U);
}

BOOST_AUTO_TEST_CASE(it_holds_what_was_appended_and_is_not_forgotten) {
  SlidingVector<std::uint64_t> s;
  BOOST_TEST(!s.holds(0));
  for (std::uint64_t i = 0; i < 10; ++i) s.push_back(i);
  s.forget_before(4);
  for (std::size_t i = 0; i < 12; ++i) BOOST_TEST(s.holds(i) == (i >= 4 && i < 10));
}

BOOST_AUTO_TEST_CASE(all_of_it_may_be_forgotten) {
  for (const std::size_t count : {3U, 3000U}) {
    SlidingVector<std::uint64_t> s;
    for (std::uint64_t i = 0; i < count; ++i) s.push_back(i);
    s.forget_before(count);
    BOOST_TEST(s.first() == count);
    BOOST_TEST(s.size() == count);
    BOOST_TEST(!s.holds(count - 1));
    s.push_back(5);
    BOOST_TEST(kept(s) == Numbers{5});
    BOOST_TEST(s[count] == 5U);
  }
}

BOOST_AUTO_TEST_CASE(what_is_forgotten_stays_so) {
  SlidingVector<std::uint64_t> s;
  for (std::uint64_t i = 0; i < 10; ++i) s.push_back(i);
  s.forget_before(6);
  s.forget_before(2);
  BOOST_TEST(s.first() == 6U);
  BOOST_TEST(kept(s) == (Numbers{6, 7, 8, 9}));
}

// With enough reserved memory for the slice, and without.
BOOST_AUTO_TEST_CASE(a_slice_of_its_own_may_be_appended) {
  SlidingVector<std::uint64_t> s;
  for (std::uint64_t i = 0; i < 200; ++i) s.push_back(i);
  s.forget_before(150);
  for (int round = 0; round < 20; ++round) s.append(s.slice(197, 3));
  BOOST_TEST(s.size() == 260U);
  for (std::size_t i = 200; i < 260; ++i) BOOST_TEST(s[i] == 197 + (i - 200) % 3);
}

BOOST_AUTO_TEST_CASE(it_is_what_a_queue_with_a_counter_would_be) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      SlidingVector<std::uint64_t> s;
      std::deque<std::uint64_t> queue;
      std::size_t forgotten = 0;
      for (int step = 0; step < 500; ++step) {
        Numbers more(random.below(40));
        for (std::uint64_t& value : more) value = random.next();
        if (random.below(2) == 0) s.reserve(random.below(100));
        s.append(more);
        queue.insert(queue.end(), more.begin(), more.end());
        const std::size_t drop = random.below(queue.size() + 1);
        if (random.below(3) == 0) {
          s.forget_before(forgotten + drop);
          queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(drop));
          forgotten += drop;
        }
        BOOST_TEST_REQUIRE(s.first() == forgotten);
        BOOST_TEST_REQUIRE(s.size() == forgotten + queue.size());
        BOOST_TEST_REQUIRE(kept(s) == Numbers(queue.begin(), queue.end()));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_is_bounded_by_what_is_kept_at_once) {
  for (const std::size_t window : {1U, 10U, 1000U}) {
    SlidingVector<std::uint64_t> s;
    for (std::size_t round = 0; round < 2000; ++round) {
      s.reserve(window);
      for (std::size_t i = 0; i < window; ++i) s.push_back(round);
      s.forget_before(s.size() - window);  // at most two windows are held
      BOOST_TEST_REQUIRE(s.capacity() <= 8 * window + 256);
    }
    BOOST_TEST(s.size() == 2000 * window);
  }
}

BOOST_AUTO_TEST_CASE(what_is_reserved_in_small_pieces_moves_seldom) {
  SlidingVector<std::uint64_t> s;
  std::size_t moves = 0;
  for (std::size_t round = 0; round < 10'000; ++round) {
    const std::size_t before = s.capacity();
    s.reserve(2);
    for (int i = 0; i < 2; ++i) s.push_back(round);
    if (s.capacity() != before) ++moves;
  }
  BOOST_TEST(moves < 32U);
}

BOOST_AUTO_TEST_CASE(what_is_reserved_once_never_moves) {
  SlidingVector<std::uint64_t> s;
  s.push_back(1);
  s.reserve(5000);
  const std::uint64_t* const place = &s[0];
  for (std::uint64_t i = 0; i < 5000; ++i) s.push_back(i);
  BOOST_TEST((&s[0] == place));
}

// Not at once: the elements forgotten last may stay in memory until more are forgotten.
BOOST_AUTO_TEST_CASE(what_forgotten_elements_own_is_freed) {
  SlidingVector<std::shared_ptr<int>> s;
  const auto owned = std::make_shared<int>(1);
  for (int i = 0; i < 10'000; ++i) s.push_back(owned);
  s.forget_before(9'990);
  BOOST_TEST(owned.use_count() == 11);
}

BOOST_AUTO_TEST_CASE(half_an_index_tells_which_of_those_kept_it_is) {
  constexpr std::size_t turn = std::size_t{1} << 32;
  for (const std::size_t oldest : {std::size_t{0}, turn - 5, turn, 7 * turn - 1, 7 * turn + 9}) {
    for (const std::size_t after : {std::size_t{0}, std::size_t{3}, std::size_t{10}, turn - 1}) {
      const std::size_t index = oldest + after;
      BOOST_TEST(index_from(oldest, static_cast<std::uint32_t>(index)) == index);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
