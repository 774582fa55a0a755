#include "core/base/big_vector.hpp"

#include "core/base/arena_pool.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(big_vector)
namespace {

using Bytes = BigAllocator<std::byte>;

bool is_aligned(const void* memory, std::size_t to) {
  return reinterpret_cast<std::uintptr_t>(memory) % to == 0;
}

// Sizes below and above the threshold for huge pages.
BOOST_AUTO_TEST_CASE(memory_of_any_size_can_be_written_to_its_end_and_given_back) {
  Bytes allocator;
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4096}, Bytes::huge_pages_min_bytes - 1,
        Bytes::huge_pages_min_bytes, Bytes::huge_pages_min_bytes + 1,
        3 * Bytes::huge_pages_min_bytes + 12'345}) {
    std::byte* const memory = allocator.allocate(bytes);
    memory[0] = std::byte{1};
    memory[bytes - 1] = std::byte{2};
    BOOST_TEST((memory[bytes - 1] == std::byte{2}));
    allocator.deallocate(memory, bytes);
  }
}

BOOST_AUTO_TEST_CASE(what_takes_several_megabytes_begins_with_a_huge_page) {
  BigAllocator<std::uint64_t> words;
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  for (const std::size_t bytes : {2 * huge_page, 2 * huge_page + 8, 5 * huge_page - 8}) {
    std::array<std::uint64_t*, 4> several{};  // one might be aligned by chance
    for (std::uint64_t*& memory : several) {
      memory = words.allocate(bytes / 8);
      BOOST_TEST(is_aligned(memory, huge_page));
    }
    for (std::uint64_t* const memory : several) words.deallocate(memory, bytes / 8);
  }
}

BOOST_AUTO_TEST_CASE(elements_are_aligned_as_their_type_wants_in_small_and_in_big) {
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  for (const std::size_t count : {3U, 100'000U}) {
    const BigVector<Line> lines(count);
    BOOST_TEST(is_aligned(lines.data(), 128));
  }
}

BOOST_AUTO_TEST_CASE(values_stay_when_a_vector_grows_big_and_shrinks_again) {
  BigVector<std::uint64_t> v;
  constexpr std::uint64_t count = 1'500'000;  // 12 MB
  for (std::uint64_t i = 0; i < count; ++i) v.push_back(i * i);
  BOOST_TEST(is_aligned(v.data(), huge_page_bytes));
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) wrong += v[i] != i * i ? 1U : 0U;
  BOOST_TEST(wrong == 0U);
  v.resize(1000);
  v.shrink_to_fit();
  BOOST_TEST(v.capacity() < 100'000U);
  for (std::uint64_t i = 0; i < v.size(); ++i) BOOST_TEST(v[i] == i * i);
}

BOOST_AUTO_TEST_CASE(a_vector_that_is_moved_takes_its_memory_along) {
  BigVector<std::uint32_t> from(2'000'000);
  std::iota(from.begin(), from.end(), 0U);
  const std::uint32_t* const memory = from.data();
  BigVector<std::uint32_t> into;
  into = std::move(from);
  BOOST_TEST((into.data() == memory));
  BOOST_TEST(into.size() == 2'000'000U);
  BOOST_TEST(into.back() == 1'999'999U);
}

BOOST_AUTO_TEST_CASE(arrays_in_an_arena_lie_side_by_side_and_share_no_cache_line) {
  Arena arena;
  arena.reserve(2 * Arena::room_for(100) + Arena::room_for(640));
  const auto a = vector_in<std::byte>(arena, 100);
  const auto b = vector_in<std::uint64_t>(arena, 80);
  const auto c = vector_in<std::byte>(arena, 100);
  const auto* const begin = reinterpret_cast<const std::byte*>(a.data());
  BOOST_TEST(is_aligned(begin, 64));
  BOOST_TEST((reinterpret_cast<const std::byte*>(b.data()) == begin + 128));
  BOOST_TEST((c.data() == begin + 128 + 640));
}

BOOST_AUTO_TEST_CASE(an_array_for_which_a_block_has_no_room_left_lies_in_another) {
  Arena arena;
  arena.reserve(2 * Arena::alignment);
  auto* const first = static_cast<std::byte*>(arena.allocate(2 * Arena::alignment));
  auto* const second = static_cast<std::byte*>(arena.allocate(Arena::alignment));
  BOOST_TEST(second != first + 2 * Arena::alignment);
}

BOOST_AUTO_TEST_CASE(an_arena_that_is_reset_uses_its_block_again_if_it_is_large_enough) {
  Arena arena;
  arena.reserve(3 * Arena::alignment);
  void* const first = arena.allocate(Arena::alignment);
  arena.reset(3 * Arena::alignment);
  BOOST_TEST(arena.allocate(3 * Arena::alignment) == first);
  arena.reset(5 * Arena::alignment);
  auto* const larger = static_cast<std::byte*>(arena.allocate(4 * Arena::alignment));
  BOOST_TEST(arena.allocate(Arena::alignment) == larger + 4 * Arena::alignment);
}

BOOST_AUTO_TEST_CASE(an_arena_of_a_pool_goes_back_from_any_thread_and_may_outlive_the_pool) {
  auto pool = std::make_shared<ArenaPool>();
  std::shared_ptr<Arena> first = pool->take(1000);
  const Arena* const known = first.get();
  BOOST_TEST(pool->take(1000).get() != known);  // goes back at once
  std::thread([dropped = std::move(first)] {}).join();
  first = pool->take(500);
  BOOST_TEST(first.get() == known);
  pool = nullptr;
  BOOST_TEST(first->allocate(1000) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_pool_keeps_no_large_arenas) {
  const auto pool = std::make_shared<ArenaPool>();
  pool->take(8 << 20);
  BOOST_TEST(pool->take(64)->bytes() == 64U);
}

BOOST_AUTO_TEST_CASE(a_vector_may_outgrow_the_arena_it_is_in) {
  Arena arena;
  arena.reserve(64);
  auto grown = vector_in<std::uint32_t>(arena, 16);
  auto other = vector_in<std::uint32_t>(arena, 4);
  other.assign(4, 7);
  for (std::uint32_t i = 0; i < 100'000; ++i) grown.push_back(i);
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) wrong += grown[i] != i ? 1U : 0U;
  BOOST_TEST(wrong == 0U);
  BOOST_TEST((other == BigVector<std::uint32_t>(4, 7)));
}

BOOST_AUTO_TEST_CASE(a_vector_may_move_with_its_arena_and_a_copy_needs_none) {
  BigVector<std::uint32_t> copy;
  {
    auto arena = std::make_unique<Arena>();
    arena->reserve(400);
    auto from = vector_in<std::uint32_t>(*arena, 100);
    from.assign(100, 5);
    const std::uint32_t* const memory = from.data();
    BigVector<std::uint32_t> into = {1, 2, 3};
    into = std::move(from);
    BOOST_TEST((into.data() == memory));
    copy = BigVector<std::uint32_t>(into);
    arena = nullptr;  // before the vector in it, as when a share is assigned to
    into = {};
    BOOST_TEST(into.empty());
  }
  BOOST_TEST((copy == BigVector<std::uint32_t>(100, 5)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
