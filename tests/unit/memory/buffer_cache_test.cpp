#include "core/base/buffer_capacity.hpp"
#include "core/memory/buffer_pool.hpp"

#include <cstring>
#include <deque>
#include <initializer_list>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(buffer_cache)
namespace {

constexpr std::uint64_t line = 64;
constexpr std::uint64_t page = BufferPool::page_bytes;
constexpr std::uint64_t kib = 1024;

std::uint64_t buffers_made(const BufferPool& pool, std::uint64_t capacity) {
  return pool.bytes_mapped() / capacity;
}

// Takes `count` buffers from `cache`.
std::vector<std::byte*> take(BufferCache& cache, std::uint64_t capacity, std::size_t count) {
  std::vector<std::byte*> taken(count);
  for (std::byte*& buffer : taken) buffer = cache.take(capacity);
  return taken;
}

BOOST_AUTO_TEST_CASE(capacities_are_whole_lines_and_from_about_a_page_on_whole_pages) {
  for (const auto& [bytes, capacity] : {std::pair(1UL, 64UL),
                                        {64, 64},
                                        {65, 128},
                                        {4032, 4032},
                                        {4033, 4096},
                                        {4096, 4096},
                                        {4097, 8192},
                                        {8192, 8192}}) {
    BOOST_TEST(buffer_capacity(bytes) == capacity);
    // The capacity of a capacity is itself, so that it can identify a size of buffers.
    BOOST_TEST(buffer_capacity(capacity) == capacity);
  }
}

BOOST_AUTO_TEST_CASE(the_buffer_given_last_is_taken_first) {
  BufferPool pool;
  BufferCache cache(pool);
  const std::vector<std::byte*> buffers = take(cache, line, 5);
  for (const std::size_t i : {3U, 0U, 4U, 1U, 2U}) cache.give(line, buffers[i]);
  for (const std::size_t i : {2U, 1U, 4U, 0U, 3U}) BOOST_TEST(cache.take(line) == buffers[i]);
}

BOOST_AUTO_TEST_CASE(buffers_of_different_sizes_stay_apart) {
  BufferPool pool;
  BufferCache cache(pool);
  const std::initializer_list<std::uint64_t> sizes = {line, 2 * line, page};
  std::vector<std::byte*> given;
  for (const std::uint64_t size : sizes) given.push_back(cache.take(size));
  std::size_t i = 0;
  for (const std::uint64_t size : sizes) cache.give(size, given[i++]);
  i = 0;
  for (const std::uint64_t size : sizes) BOOST_TEST(cache.take(size) == given[i++]);
}

BOOST_AUTO_TEST_CASE(a_destroyed_cache_returns_its_buffers_to_the_pool) {
  BufferPool pool;
  {
    BufferCache cache(pool);
    for (const std::uint64_t size : {line, page}) {
      for (std::byte* buffer : take(cache, size, 10)) cache.give(size, buffer);
    }
    BOOST_TEST(pool.free_count(page) == 0U);
    BufferCache moved(std::move(cache));
    BOOST_TEST(moved.take(page) != nullptr);  // never released
  }
  BOOST_TEST(pool.free_count(page) == 9U);
  BOOST_TEST(pool.free_count(line) == (pool.bytes_mapped() - 10 * page) / line);
}

BOOST_AUTO_TEST_CASE(a_flushed_cache_has_returned_its_buffers_and_can_be_used_again) {
  BufferPool pool;
  BufferCache cache(pool);
  for (std::byte* buffer : take(cache, page, 10)) cache.give(page, buffer);
  cache.flush();
  BOOST_TEST(pool.free_count(page) == 10U);
  std::byte* const again = cache.take(page);
  BOOST_TEST(again != nullptr);
  cache.give(page, again);
}

BOOST_AUTO_TEST_CASE(a_full_cache_moves_buffers_to_the_pool) {
  constexpr std::size_t count = 1000;
  BufferPool pool;
  BufferCache cache(pool);
  const std::vector<std::byte*> buffers = take(cache, page, count);
  BOOST_TEST(pool.free_count(page) == 0U);
  for (std::byte* buffer : buffers) cache.give(page, buffer);
  BOOST_TEST(pool.free_count(page) >= count - 128);
  BOOST_TEST(pool.free_count(page) < count);
  // The cache still has the buffers given last.
  BOOST_TEST(cache.take(page) == buffers[count - 1]);
  BOOST_TEST(cache.take(page) == buffers[count - 2]);
}

BOOST_AUTO_TEST_CASE(large_buffers_bypass_the_cache) {
  BufferPool pool;
  BufferCache cache(pool);
  std::byte* const small = cache.take(32 * kib);
  cache.give(32 * kib, small);
  BOOST_TEST(pool.free_count(32 * kib) == 0U);
  std::byte* const large = cache.take(36 * kib);
  cache.give(36 * kib, large);
  BOOST_TEST(pool.free_count(36 * kib) == 1U);
}

// A queue of buffers to another thread, each with the number that was written to it.
class Slot {
 public:
  void push(std::byte* buffer, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    sent_.emplace_back(buffer, number);
  }
  bool pop(std::pair<std::byte*, std::uint64_t>& out) {
    const std::lock_guard lock(mutex_);
    if (sent_.empty()) return false;
    out = sent_.front();
    sent_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<std::byte*, std::uint64_t>> sent_;
};

// Fills buffers and sends them to the other thread; releases the buffers it receives. Returns how
// many of these had been overwritten.
std::uint64_t exchange(BufferPool& pool, Slot& there, Slot& here, std::uint64_t first_number) {
  constexpr std::uint64_t rounds = 10'000;
  BufferCache cache(pool);
  std::uint64_t spoilt = 0;
  std::uint64_t received = 0;
  const auto receive = [&] {
    std::pair<std::byte*, std::uint64_t> came;
    while (here.pop(came)) {
      std::uint64_t number = 0;
      std::memcpy(&number, came.first, sizeof number);
      if (number != came.second) ++spoilt;
      cache.give(line, came.first);
      ++received;
    }
  };
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::byte* const buffer = cache.take(line);
    const std::uint64_t number = first_number + i;
    std::memcpy(buffer, &number, sizeof number);
    there.push(buffer, number);
    if (i % 100 == 0) receive();
  }
  while (received < rounds) receive();
  return spoilt;
}

BOOST_AUTO_TEST_CASE(threads_that_hand_buffers_to_each_other_lose_none) {
  BufferPool pool;
  Slot forth;
  Slot back;
  std::uint64_t spoilt = 0;
  std::thread other([&] { spoilt = exchange(pool, back, forth, 1'000'000); });
  const std::uint64_t spoilt_here = exchange(pool, forth, back, 2'000'000);
  other.join();
  BOOST_TEST(spoilt == 0U);
  BOOST_TEST(spoilt_here == 0U);

  const std::uint64_t made = buffers_made(pool, line);
  BOOST_TEST(pool.free_count(line) == made);
  std::set<std::byte*> distinct;
  for (std::uint64_t i = 0; i < made; ++i) distinct.insert(pool.take(line));
  BOOST_TEST(distinct.size() == made);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
