// Buffers on a host that has too little memory for all that is wanted.
#include "core/base/error.hpp"
#include "core/memory/buffer_pool.hpp"
#include "core/memory/memory_store.hpp"
#include "tests/support/address_space.hpp"

#include <array>
#include <cstdint>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(memory_shortage)
namespace {

using Need = BufferPool::Need;

constexpr std::uint64_t mib = 1 << 20;

// A pool on a host that has so many bytes for it and nothing else.
struct SmallHost {
  explicit SmallHost(std::uint64_t bytes) : host_bytes(bytes) {}
  std::uint64_t host_bytes;
  BufferPool pool{[this] { return host_bytes - pool.bytes_mapped(); }};
};

BOOST_AUTO_TEST_CASE(making_room_gives_up_free_buffers_only_as_far_as_needed) {
  SmallHost host(10 * mib);
  host.pool.reserve(std::array{Need{mib, 4}, Need{2 * mib, 2}});
  host.pool.reserve(std::array{Need{mib, 2}, Need{3 * mib, 1}});  // 1 MiB is missing
  BOOST_TEST(host.pool.free_count(mib) == 3U);
  BOOST_TEST(host.pool.free_count(2 * mib) == 2U);
  BOOST_TEST(host.pool.free_count(3 * mib) == 1U);
  BOOST_TEST(host.pool.bytes_mapped() == 10 * mib);
}

BOOST_AUTO_TEST_CASE(making_room_spares_the_buffers_that_are_needed) {
  SmallHost host(10 * mib);
  host.pool.reserve(std::array{Need{mib, 4}, Need{2 * mib, 2}});
  host.pool.reserve(std::array{Need{mib, 3}, Need{4 * mib, 1}});  // 2 MiB are missing
  BOOST_TEST(host.pool.free_count(mib) == 3U);
  BOOST_TEST(host.pool.free_count(2 * mib) == 1U);
  BOOST_TEST(host.pool.free_count(4 * mib) == 1U);
}

BOOST_AUTO_TEST_CASE(where_not_all_can_be_had_there_is_one_of_each_size_first) {
  SmallHost host(5 * mib);
  host.pool.reserve(std::array{Need{mib, 10}, Need{2 * mib, 2}});
  BOOST_TEST(host.pool.free_count(mib) == 3U);
  BOOST_TEST(host.pool.free_count(2 * mib) == 1U);
}

BOOST_AUTO_TEST_CASE(less_than_one_of_each_size_is_refused_and_nothing_is_made) {
  SmallHost host(3 * mib);
  BOOST_CHECK_THROW(host.pool.reserve(std::array{Need{mib, 1}, Need{3 * mib, 1}}), Error);
  BOOST_TEST(host.pool.bytes_mapped() == 0U);
}

BOOST_AUTO_TEST_CASE(a_buffer_may_take_the_room_of_free_ones_but_not_of_those_in_use) {
  SmallHost host(5 * mib);
  host.pool.reserve(std::array{Need{mib, 4}});
  std::byte* const in_use = host.pool.take(mib);
  std::byte* const buffer = host.pool.take(3 * mib);  // 2 MiB are missing
  BOOST_TEST(host.pool.free_count(mib) == 1U);
  BOOST_CHECK_THROW(host.pool.take(3 * mib), Error);
  host.pool.give(mib, in_use);
  host.pool.give(3 * mib, buffer);
  BOOST_TEST(host.pool.take(3 * mib) == buffer);
}

BOOST_AUTO_TEST_CASE(a_buffer_that_could_not_be_had_does_not_count_as_used,
                     *boost::unit_test::precondition(testing::can_limit_addresses)) {
  constexpr MemoryId ram{0};
  Machine machine;
  machine.memories = {{.name = "host", .size_bytes = 100 * mib}};
  MemoryStore store(machine, MemoryStore::Backing::buffers);
  const std::array types{TensorType{DType::f64, Shape{std::int64_t{8 * mib}}}};  // 64 MiB
  const std::array replicas{ReplicaSpec{ram, 0, 1}, ReplicaSpec{ram, 0, 1}};     // too much for it
  const ReplicaId first = store.install(replicas, types);
  {
    const testing::AddressSpaceLimit limit(16 * mib);
    BOOST_CHECK_THROW(store.acquire(first), Error);
  }
  BOOST_TEST(!store.held(first));
  store.check_invariants();
  store.acquire(first);
  store.check_invariants();
  store.release(first);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
