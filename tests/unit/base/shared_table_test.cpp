#include "core/base/shared_table.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(shared_table)
namespace {

BOOST_AUTO_TEST_CASE(elements_are_counted_and_stay_what_they_were_as_it_grows) {
  SharedTable<std::size_t> table;
  BOOST_TEST(table.size() == 0U);
  for (std::size_t i = 0; i < 1000; ++i) {
    table.push_back(3 * i);
    BOOST_TEST_REQUIRE(table.size() == i + 1);
    BOOST_TEST_REQUIRE(table[i] == 3 * i);
  }
  for (std::size_t i = 0; i < 1000; ++i) BOOST_TEST(table[i] == 3 * i);
}

BOOST_AUTO_TEST_CASE(a_reference_lasts_while_more_are_added) {
  SharedTable<std::size_t> table;
  table.push_back(7);
  const std::size_t& first = table[0];
  for (std::size_t i = 0; i < 10'000; ++i) table.push_back(i);
  BOOST_TEST(first == 7U);
  BOOST_TEST((&first != &table[0]));  // the table has a new array now
}

BOOST_AUTO_TEST_CASE(a_replaced_element_leaves_the_others_as_they_are) {
  SharedTable<std::size_t> table;
  for (std::size_t i = 0; i < 200; ++i) table.push_back(i);
  table.replace(150, 5);
  for (std::size_t i = 200; i < 1000; ++i) table.push_back(i);
  for (std::size_t i = 0; i < 1000; ++i) BOOST_TEST(table[i] == (i == 150 ? 5 : i));
}

BOOST_AUTO_TEST_CASE(clearing_frees_all_and_counts_from_zero_again) {
  const auto owned = std::make_shared<int>(1);
  SharedTable<std::shared_ptr<int>> table;
  for (int i = 0; i < 300; ++i) table.push_back(owned);
  BOOST_TEST(owned.use_count() > 300);
  table.clear();
  BOOST_TEST(owned.use_count() == 1);
  BOOST_TEST(table.size() == 0U);
  table.push_back(owned);
  BOOST_TEST(table.size() == 1U);
  BOOST_TEST((table[0] == owned));
}

// One element in eight is replaced before its index is published.
BOOST_AUTO_TEST_CASE(a_thread_reads_what_it_was_told_of_while_another_adds) {
  constexpr std::size_t count = 50'000;
  SharedTable<std::shared_ptr<const std::size_t>> table;
  std::atomic<std::size_t> told = 0;
  std::atomic<std::size_t> wrong = 0;
  const auto read = [&] {
    std::size_t next = 0;
    while (next < count) {
      const std::size_t known = told.load(std::memory_order_acquire);
      for (; next < known; ++next) {
        for (const std::size_t i : {next, next / 2, std::size_t{0}}) {
          if (*table[i] != i) ++wrong;
        }
      }
    }
  };
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) readers.emplace_back(read);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_replaced = i % 8 == 0;
    table.push_back(std::make_shared<const std::size_t>(is_replaced ? count : i));
    if (is_replaced) table.replace(i, std::make_shared<const std::size_t>(i));
    told.store(i + 1, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  BOOST_TEST(wrong == 0U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
