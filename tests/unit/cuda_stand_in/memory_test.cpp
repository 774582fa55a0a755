// The addresses of a device, and vector clocks, by themselves.
#include "tests/support/cuda/stand_in/memory.hpp"

#include "tests/support/cuda/stand_in/clock.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

BOOST_AUTO_TEST_SUITE(stand_in_memory)

BOOST_AUTO_TEST_CASE(addresses_are_used_again_as_late_as_possible) {
  Arena arena(std::size_t{4} << 10U);  // four allocations of 512 bytes, and what is behind them
  const std::byte* first = arena.allocate(500);
  BOOST_CHECK(arena.release(first));
  for (int i = 1; i < 4; ++i) {
    const std::byte* next = arena.allocate(500);
    BOOST_CHECK_EQUAL(next - first, i * 1024);
    if (i != 2) BOOST_CHECK(arena.release(next));
  }
  BOOST_CHECK(arena.allocate(500) == first);
  BOOST_CHECK(arena.allocate(1024) == nullptr);  // between the two there is room for 512
  BOOST_CHECK_EQUAL(arena.allocate(500) - first, 1024);
  BOOST_CHECK_EQUAL(arena.allocate(500) - first, 3072);
  BOOST_CHECK(arena.allocate(1) == nullptr);
}

BOOST_AUTO_TEST_CASE(what_is_behind_an_allocation_is_guarded) {
  Arena arena(std::size_t{8} << 10U);
  for (const std::ptrdiff_t offset : {99, 100, 1023}) {
    const std::byte* begin = arena.allocate(100);
    BOOST_CHECK(arena.holds(begin));
    BOOST_CHECK(arena.twin(begin)[99] == std::byte{0xff});
    arena.twin(begin)[offset] = std::byte{0};
    BOOST_CHECK_EQUAL(arena.release(begin), offset == 99);
  }
}

BOOST_AUTO_TEST_CASE(a_clock_contains_what_it_has_joined) {
  VectorClock a;
  VectorClock b;
  a.set(2, 5);
  b.set(0, 1);
  BOOST_CHECK(a.contains(2, 5));
  BOOST_CHECK(!a.contains(2, 6));
  BOOST_CHECK(!a.contains(0, 1));
  a.join(b);
  BOOST_CHECK(a.contains(0, 1));
  BOOST_CHECK(a.contains(2, 5));
  BOOST_CHECK(!b.contains(2, 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
