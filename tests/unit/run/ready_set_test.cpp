#include "core/run/ready_set.hpp"

#include "core/base/random.hpp"

#include <initializer_list>
#include <set>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(ready_set)
namespace {

// Limits around one word (64) and one word of words (64 × 64), and a set with four levels.
constexpr std::initializer_list<std::uint32_t> limits = {1, 63, 64, 65, 4096, 4097, 300'000};

BOOST_AUTO_TEST_CASE(the_smallest_number_comes_out_first) {
  ReadySet ready;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const std::uint32_t limit : limits) {
      BOOST_TEST_CONTEXT("seed " << seed << ", limit " << limit) {
        Random random(seed);
        std::set<std::uint32_t> wanted;
        ready.reset(limit);
        for (int step = 0; step < 10'000; ++step) {
          // Mostly inserts for 1,000 steps, then mostly pops, so that the set fills and empties.
          const bool is_filling = step / 1000 % 2 == 0;
          if (random.below(8) == 0 ? !is_filling : is_filling) {
            const auto item = static_cast<std::uint32_t>(random.below(limit));
            BOOST_TEST_REQUIRE(ready.contains(item) == wanted.contains(item));
            if (wanted.insert(item).second) ready.insert(item);
            BOOST_TEST_REQUIRE(ready.contains(item));
          } else if (!wanted.empty()) {
            const std::uint32_t smallest = *wanted.begin();
            wanted.erase(wanted.begin());
            BOOST_TEST_REQUIRE(ready.pop() == smallest);
            BOOST_TEST_REQUIRE(!ready.contains(smallest));
          }
          BOOST_TEST_REQUIRE(ready.size() == wanted.size());
          BOOST_TEST_REQUIRE(ready.empty() == wanted.empty());
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_number_below_the_limit_may_be_in_at_once) {
  for (const std::uint32_t limit : limits) {
    ReadySet ready;
    ready.reset(limit);
    for (std::uint32_t item = limit; item-- > 0;) ready.insert(item);
    BOOST_TEST(ready.size() == limit);
    for (std::uint32_t item = 0; item < limit; ++item) BOOST_TEST_REQUIRE(ready.pop() == item);
    BOOST_TEST(ready.empty());
  }
}

// Each number popped is inserted again, with a number below it, in the same word or far before.
BOOST_AUTO_TEST_CASE(a_number_below_the_last_one_popped_comes_out_next) {
  for (const std::uint32_t limit : limits) {
    BOOST_TEST_CONTEXT("limit " << limit) {
      ReadySet ready;
      ready.reset(limit);
      ready.insert(limit - 1);
      for (std::uint32_t item = limit - 1; item > 0; item /= 2) {
        BOOST_TEST(ready.pop() == item);
        ready.insert(item);
        ready.insert(item / 2);
        BOOST_TEST(ready.pop() == item / 2);
        BOOST_TEST(ready.pop() == item);
        ready.insert(item / 2);
      }
      BOOST_TEST(ready.pop() == 0U);
      BOOST_TEST(ready.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_set_for_no_numbers_is_empty) {
  ReadySet fresh;
  BOOST_TEST(fresh.empty());
  fresh.reset(0);
  BOOST_TEST(fresh.empty());
  fresh.reset(70);
  fresh.insert(69);
  fresh.reset(0);
  BOOST_TEST(fresh.size() == 0U);
  fresh.reset(1);
  BOOST_TEST(!fresh.contains(0));
  fresh.insert(0);
  BOOST_TEST(fresh.pop() == 0U);
}

BOOST_AUTO_TEST_CASE(a_reset_empties_the_set_and_changes_its_limit) {
  ReadySet ready;
  for (const std::uint32_t limit : {300'000U, 65U, 4096U}) {
    ready.reset(limit);
    BOOST_TEST(ready.empty());
    for (const std::uint32_t left : {limit - 1, 0U, limit / 2}) {
      BOOST_TEST(!ready.contains(left));
      ready.insert(left);
    }
    BOOST_TEST(ready.pop() == 0U);  // the other two are left to the reset
  }
  ready.reset(100);
  ready.insert(99);
  BOOST_TEST(ready.size() == 1U);
  BOOST_TEST(ready.pop() == 99U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
