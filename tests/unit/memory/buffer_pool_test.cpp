#include "core/memory/buffer_pool.hpp"

#include "core/base/buffer_capacity.hpp"
#include "core/base/error.hpp"
#include "core/base/random.hpp"
#include "core/machine/host_memory.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(buffer_pool)
namespace {

constexpr std::uint64_t page = BufferPool::page_bytes;
constexpr std::uint64_t mib = 1 << 20;

bool is_aligned(const std::byte* buffer, std::uint64_t to = page) {
  return reinterpret_cast<std::uintptr_t>(buffer) % to == 0;
}

BOOST_AUTO_TEST_CASE(buffers_are_page_aligned_writable_and_distinct) {
  BufferPool pool;
  const std::array needs{BufferPool::Need{page, 100}, BufferPool::Need{3 * mib, 4}};
  pool.reserve(needs);
  std::set<std::byte*> seen;
  for (const auto& [capacity, count] : needs) {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::byte* buffer = pool.take(capacity);
      std::memset(buffer, 7, capacity);
      BOOST_TEST(is_aligned(buffer));
      BOOST_TEST(seen.insert(buffer).second);
    }
  }
  BOOST_TEST(pool.bytes_mapped() == 100 * page + 12 * mib);
}

BOOST_AUTO_TEST_CASE(a_buffer_given_back_is_taken_again) {
  BufferPool pool;
  std::byte* buffer = pool.take(page);
  pool.give(page, buffer);
  BOOST_TEST(pool.take(page) == buffer);
  BOOST_TEST(pool.bytes_mapped() == page);
}

BOOST_AUTO_TEST_CASE(buffers_of_ever_other_capacities_do_not_add_up) {
  BufferPool pool;
  for (std::uint64_t k = 0; k < 200; ++k) {
    const std::uint64_t capacity = 2 * mib + k * page;
    std::byte* const buffer = pool.take(capacity);
    pool.give(capacity, buffer);
  }
  BOOST_TEST(pool.bytes_mapped() <= 40 * 3 * mib);
}

BOOST_AUTO_TEST_CASE(small_buffers_of_ever_other_capacities_do_not_add_up) {
  BufferPool pool;
  std::uint64_t most = 0;
  for (std::uint64_t k = 0; k < 200; ++k) {
    const std::uint64_t capacity = page + k * page;
    std::vector<std::byte*> buffers;
    for (int i = 0; i < 20; ++i) buffers.push_back(pool.take(capacity));
    for (std::byte* const buffer : buffers) pool.give(capacity, buffer);
    most = std::max(most, pool.bytes_mapped());
  }
  BOOST_TEST(most <= 2 * 20 * 200 * page + 64 * mib + 10 * mib);
}

BOOST_AUTO_TEST_CASE(buffers_whose_pages_went_back_are_taken_again) {
  const std::uint64_t capacity = 4 * page;
  BufferPool pool;
  std::set<std::byte*> seen;
  const auto take_all = [&] {
    std::vector<std::byte*> buffers;
    for (int i = 0; i < 100; ++i) buffers.push_back(pool.take(capacity));
    std::set<std::byte*> distinct;
    for (std::byte* const buffer : buffers) {
      std::memset(buffer, 7, capacity);
      distinct.insert(buffer);
    }
    BOOST_TEST(distinct.size() == 100U);
    seen.insert(distinct.begin(), distinct.end());
    for (std::byte* const buffer : buffers) pool.give(capacity, buffer);
  };
  take_all();
  const std::uint64_t before = seen.size();
  for (std::uint64_t k = 0; k < 100; ++k) {
    const std::uint64_t large = 2 * mib + k * page;
    pool.give(large, pool.take(large));
  }
  BOOST_TEST(pool.free_count(capacity) < 100U);
  take_all();
  BOOST_TEST(seen.size() == before);
}

BOOST_AUTO_TEST_CASE(buffers_that_were_reserved_are_there_when_they_are_taken) {
  BufferPool pool;
  std::vector<BufferPool::Need> needs;
  for (std::uint64_t k = 0; k < 40; ++k) needs.push_back({2 * mib + k * page, 1});
  pool.reserve(needs);
  pool.give(20 * mib, pool.take(20 * mib));
  for (const auto& [capacity, count] : needs) BOOST_TEST(pool.free_count(capacity) == 1U);
}

BOOST_AUTO_TEST_CASE(buffers_of_capacities_that_come_again_are_kept) {
  BufferPool pool;
  std::map<std::uint64_t, std::byte*> first;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t capacity = 2 * mib; capacity < 2 * mib + 20 * page; capacity += page) {
      std::byte* const buffer = pool.take(capacity);
      BOOST_TEST(first.emplace(capacity, buffer).first->second == buffer);
      pool.give(capacity, buffer);
    }
  }
  BOOST_TEST(pool.bytes_mapped() > 40 * mib);
}

std::int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

std::size_t mapping_count() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::size_t count = 0;
  while (std::getline(maps, line)) ++count;
  return count;
}

// One after the other, of all these capacities. Writes little: sanitizers have page faults for what
// is written.
void take_and_give(BufferPool& pool, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t capacity = first; capacity <= last; capacity += page) {
    std::byte* const buffer = pool.take(capacity);
    buffer[0] = buffer[capacity - 1] = std::byte{7};
    pool.give(capacity, buffer);
  }
}

// New ones would have 256 page faults each. These have those of the pages by which they are larger
// than the ones that are unused for longest.
BOOST_AUTO_TEST_CASE(where_buffers_would_go_one_of_them_gets_the_capacity_that_is_needed) {
  BufferPool pool;
  take_and_give(pool, mib, mib + 79 * page);  // more than 64 MiB
  const std::uint64_t before = pool.bytes_mapped();
  const std::int64_t faults = page_faults();
  take_and_give(pool, mib + 80 * page, mib + 99 * page);
  BOOST_TEST(page_faults() - faults < 20 * 128);
  take_and_give(pool, mib - 20 * page, mib - page);
  BOOST_TEST(page_faults() - faults < 20 * 128);
  BOOST_TEST(pool.bytes_mapped() <= before + 20 * 100 * page);
}

BOOST_AUTO_TEST_CASE(buffers_with_another_capacity_begin_at_a_huge_page_if_they_are_large) {
  BufferPool pool;
  take_and_give(pool, 2 * mib, 2 * mib + 60 * page);
  for (const std::uint64_t capacity : {3 * mib, 2 * mib + 100 * page, 3 * mib - page}) {
    std::byte* const buffer = pool.take(capacity);
    std::memset(buffer, 7, capacity);
    BOOST_TEST(is_aligned(buffer, 2 * mib));
    pool.give(capacity, buffer);
  }
}

// A process may have 65,530 mappings.
BOOST_AUTO_TEST_CASE(a_buffer_whose_capacity_changes_is_one_mapping) {
  BufferPool pool;
  Random random(1);
  std::deque<std::pair<std::uint64_t, std::byte*>> in_use;
  const std::size_t before = mapping_count();
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t capacity = (64 + random.below(128)) * page;
    in_use.emplace_back(capacity, pool.take(capacity));
    if (in_use.size() <= 100) continue;
    pool.give(in_use.front().first, in_use.front().second);
    in_use.pop_front();
  }
  BOOST_TEST(mapping_count() < before + 700);
}

BOOST_AUTO_TEST_CASE(many_capacities_that_come_again_keep_their_buffers) {
  BufferPool pool;
  for (int round = 0; round < 3; ++round) {
    const std::int64_t faults = page_faults();
    take_and_give(pool, mib, mib + 49 * page);
    if (round > 0) BOOST_TEST(page_faults() - faults < 50);
  }
}

BOOST_AUTO_TEST_CASE(buffers_that_are_reserved_are_made_of_those_that_would_go) {
  BufferPool pool;
  take_and_give(pool, mib, mib + 79 * page);
  const std::int64_t faults = page_faults();
  pool.reserve(std::array{BufferPool::Need{mib + 100 * page, 1}});
  BOOST_TEST(page_faults() - faults < 128);
  BOOST_TEST(pool.free_count(mib + 100 * page) == 1U);
  pool.reserve(std::array{BufferPool::Need{mib + 79 * page, 1}});
  BOOST_TEST(pool.free_count(mib + 79 * page) == 1U);
}

BOOST_AUTO_TEST_CASE(how_much_memory_there_is_is_not_read_for_each_small_part_of_it) {
  std::uint64_t readings = 0;
  BufferPool pool([&] {
    ++readings;
    return 1024 * mib;
  });
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t k = 1; k <= 200; ++k) pool.give(k * page, pool.take(k * page));
  const auto took = std::chrono::steady_clock::now() - begun;
  BOOST_TEST(readings <= static_cast<std::uint64_t>(took / std::chrono::milliseconds(10)) + 1);
  const std::uint64_t before = readings;
  pool.give(80 * mib, pool.take(80 * mib));
  BOOST_TEST(readings == before + 1);
}

BOOST_AUTO_TEST_CASE(large_buffers_begin_at_a_huge_page) {
  BufferPool pool;
  for (int i = 0; i < 3; ++i) BOOST_TEST(is_aligned(pool.take(3 * mib), 2 * mib));
  BOOST_TEST(pool.bytes_mapped() == 9 * mib);
}

BOOST_AUTO_TEST_CASE(parts_of_a_huge_page_come_more_and_more_at_a_time_up_to_a_page_full) {
  BufferPool pool;
  std::uint64_t mapped = 0;
  for (const std::uint64_t count : {1, 1, 2, 4, 4}) {
    mapped += count * mib / 2;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::byte* const buffer = pool.take(mib / 2);
      if (count == 4 && i == 3) BOOST_TEST(is_aligned(buffer, 2 * mib));  // the last is taken first
      BOOST_TEST(pool.bytes_mapped() == mapped);
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_that_do_not_divide_a_huge_page_reach_beyond_one) {
  BufferPool pool;
  constexpr std::uint64_t part = 200 << 10;
  for (int i = 0; i < 17; ++i) pool.take(part);  // 1, 1, 2, 4, 8 and the first of eleven
  BOOST_TEST(pool.bytes_mapped() == (16 + 11) * part);
  BOOST_TEST(pool.free_count(part) == 10U);
}

BOOST_AUTO_TEST_CASE(no_more_buffers_are_made_than_the_host_has_room_for) {
  BufferPool pool([] { return mib; });
  for (int i = 0; i < 4; ++i) pool.take(mib / 2);
  pool.take(mib / 2);
  BOOST_TEST(pool.bytes_mapped() == 6 * mib / 2);
}

BOOST_AUTO_TEST_CASE(reserve_makes_only_what_is_missing) {
  BufferPool pool;
  pool.reserve(std::array{BufferPool::Need{mib, 4}});
  pool.reserve(std::array{BufferPool::Need{mib, 3}});
  BOOST_TEST(pool.bytes_mapped() == 4 * mib);
  pool.reserve(std::array{BufferPool::Need{mib, 6}});
  BOOST_TEST(pool.bytes_mapped() == 6 * mib);
}

// What takes the last free buffer while reserve() asks how much is usable stands for a thread.
BOOST_AUTO_TEST_CASE(reserve_keeps_to_what_is_usable_while_others_take_buffers) {
  BufferPool* self = nullptr;
  bool has_taken = false;
  BufferPool pool([&] {
    if (self == nullptr) return 3 * mib;
    if (!std::exchange(has_taken, true)) self->take(2 * mib);
    return mib;
  });
  pool.give(2 * mib, pool.take(2 * mib));
  self = &pool;
  pool.reserve(std::array{BufferPool::Need{2 * mib, 50}});
  BOOST_TEST(has_taken);
  BOOST_TEST(pool.bytes_mapped() == 2 * mib);
}

BOOST_AUTO_TEST_CASE(more_than_the_host_has_is_refused_before_anything_is_touched) {
  BufferPool pool;
  const std::uint64_t too_much = buffer_capacity(host_memory().total_bytes * 2);
  const auto says_both = [](const Error& e) {
    const std::string_view text = e.what();
    return e.kind() == ErrorKind::failed && text.find("needed") != text.npos &&
           text.find("available") != text.npos;
  };
  BOOST_CHECK_EXCEPTION(pool.reserve(std::array{BufferPool::Need{too_much, 1}}), Error, says_both);
  BOOST_CHECK_EXCEPTION(pool.take(too_much), Error, says_both);
  BOOST_TEST(pool.bytes_mapped() == 0U);
}

BOOST_AUTO_TEST_CASE(reserving_can_be_ended_within_32_mib) {
  BufferPool pool;
  const std::array needs{BufferPool::Need{40 * mib, 1}, BufferPool::Need{100 * mib, 1}};
  int asked = 0;
  pool.reserve(needs, [&] { return ++asked < 5; });  // two parts of the first, two of the second
  BOOST_TEST(asked == 5);
  BOOST_TEST(pool.bytes_mapped() == 40 * mib);
  BOOST_TEST(pool.free_count(100 * mib) == 0U);
}

BOOST_AUTO_TEST_CASE(the_host_keeps_a_reserve_that_is_small_for_small_hosts) {
  BOOST_TEST(BufferPool::host_reserve(64 << 20) == 4U << 20);
  BOOST_TEST(BufferPool::host_reserve(std::uint64_t{64} << 30) == 256U << 20);
}

BOOST_AUTO_TEST_CASE(memory_is_pinned_when_it_is_mapped_and_unpinned_before_it_is_returned) {
  std::map<std::byte*, std::uint64_t> pinned;
  {
    BufferPool pool(&BufferPool::usable_host_bytes,
                    {.pin = [&](std::byte* start, std::uint64_t bytes) { pinned[start] = bytes; },
                     .unpin =
                         [&](std::byte* start) {
                           *start = std::byte{1};  // is still there
                           pinned.erase(start);
                         }});
    std::byte* const buffer = pool.take(buffer_capacity(1 << 20));
    BOOST_TEST(pinned.size() == 1U);
    BOOST_TEST(pinned.at(buffer) == pool.bytes_mapped());
    pool.give(buffer_capacity(1 << 20), buffer);
    BOOST_TEST(pinned.size() == 1U);
  }
  BOOST_TEST(pinned.empty());
}

BOOST_AUTO_TEST_CASE(buffers_of_1_mib_that_are_reserved_together_share_huge_pages) {
  BufferPool pool;
  pool.reserve(std::array{BufferPool::Need{mib, 5}});  // one of them first
  std::vector<std::byte*> buffers;
  pool.take_some(mib, 5, buffers);
  const std::set<std::byte*> all(buffers.begin(), buffers.end());
  BOOST_TEST(std::ranges::any_of(buffers, [&](std::byte* b) {
    return is_aligned(b, 2 * mib) && all.contains(b + mib) && all.contains(b + 2 * mib) &&
           all.contains(b + 3 * mib);
  }));
  pool.give_some(mib, buffers);
}

BOOST_AUTO_TEST_CASE(large_buffers_are_pinned_each_by_itself_and_none_stays_if_one_can_t_be) {
  std::set<std::byte*> pinned;
  std::size_t most = 4;
  BufferPool pool(&BufferPool::usable_host_bytes,
                  {.pin =
                       [&](std::byte* start, std::uint64_t bytes) {
                         BOOST_TEST(bytes == mib);
                         if (pinned.size() == most) throw run_error("the driver refuses");
                         pinned.insert(start);
                       },
                   .unpin = [&](std::byte* start) { pinned.erase(start); }});
  BOOST_CHECK_THROW(pool.reserve(std::array{BufferPool::Need{mib, 8}}), Error);
  BOOST_TEST(pinned.size() == 1U);  // the one that is reserved first
  BOOST_TEST(pool.bytes_mapped() == mib);
  most = 8;
  pool.reserve(std::array{BufferPool::Need{mib, 8}});
  BOOST_TEST(pinned.size() == 8U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
