// A buffer that is filled first and becomes a tensor's afterwards.
#include "core/memory/shared_buffer.hpp"

#include "core/memory/memory_store.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(shared_buffers)
namespace {

constexpr std::uint64_t page = 4096;
const std::array types{TensorType{DType::f64, Shape{512}}};  // a page
const ReplicaSpec one_reader{.memory = MemoryId{0}, .type = 0, .readers = 1};

Machine host_of(std::uint64_t bytes) {
  Machine machine;
  machine.memories = {{.name = "host", .size_bytes = bytes}};
  return machine;
}

BOOST_AUTO_TEST_CASE(a_buffer_that_nobody_takes_over_goes_back_with_its_last_pointer) {
  const auto pool = std::make_shared<BufferPool>();
  auto first = shared_buffer(*pool, page);
  std::shared_ptr<const std::byte> second = first;
  first.reset();
  BOOST_TEST(pool->free_count(page) == 0U);
  second.reset();
  BOOST_TEST(pool->free_count(page) == 1U);
}

BOOST_AUTO_TEST_CASE(a_buffer_may_outlive_all_other_users_of_its_pool) {
  auto pool = std::make_shared<BufferPool>();
  const auto buffer = shared_buffer(*pool, page);
  pool.reset();
  std::memset(buffer.get(), 7, page);
}

BOOST_AUTO_TEST_CASE(a_buffer_that_is_taken_over_is_the_tensor_s_until_that_is_freed) {
  MemoryStore store(host_of(1 << 20), MemoryStore::Backing::buffers);
  const ReplicaId r = store.install({&one_reader, 1}, types);
  auto values = shared_buffer(store.pool(), page);
  std::byte* const buffer = values.get();
  *buffer = std::byte{7};
  BOOST_TEST(store.take_over(r, values));
  values.reset();
  BOOST_TEST(store.pool().free_count(page) == 0U);
  BOOST_TEST(store.data(r) == buffer);
  BOOST_TEST((*store.data(r) == std::byte{7}));
  BOOST_TEST(!store.is_adopted(r));
  store.check_invariants();
  store.release(r);
  BOOST_TEST(store.pool().free_count(page) == 1U);
  store.check_invariants();
}

BOOST_AUTO_TEST_CASE(only_a_buffer_of_the_memory_s_pool_and_of_the_right_size_is_taken_over) {
  MemoryStore store(host_of(1 << 20), MemoryStore::Backing::buffers);
  const ReplicaId r = store.install({&one_reader, 1}, types);
  const auto other = std::make_shared<BufferPool>();
  BOOST_TEST(!store.take_over(r, shared_buffer(*other, page)));
  BOOST_TEST(!store.take_over(r, shared_buffer(store.pool(), 2 * page)));
  BOOST_TEST(!store.take_over(r, std::make_shared<std::byte>()));
  BOOST_TEST(!store.take_over(r, nullptr));
  const auto values = shared_buffer(store.pool(), page);
  BOOST_TEST(store.take_over(r, values));
  const ReplicaId again = store.install({&one_reader, 1}, types);
  BOOST_TEST(!store.take_over(again, values));  // it is another tensor's
  BOOST_TEST(!store.held(again));
}

BOOST_AUTO_TEST_CASE(a_full_memory_refuses_a_buffer_which_goes_back) {
  MemoryStore store(host_of(page), MemoryStore::Backing::buffers);
  const std::vector<ReplicaSpec> two(2, one_reader);
  const ReplicaId first = store.install(two, types);
  store.acquire(first);
  const auto second = ReplicaId::at(first.index() + 1);
  BOOST_CHECK_THROW(store.take_over(second, shared_buffer(store.pool(), page)), Error);
  BOOST_TEST(store.pool().free_count(page) == 1U);
  store.check_invariants();
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
