// An op that computes in place gets the buffer of its input.
#include "core/memory/memory_store.hpp"
#include "tests/support/temporary_directory.hpp"

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(hand_over)
namespace {

using testing::TemporaryDirectory;
using Backing = MemoryStore::Backing;
using Counting = MemoryStore::Counting;

constexpr MemoryId memory{0};
constexpr MemoryId other_memory{1};
constexpr std::uint64_t page = 4096;
const std::array types{TensorType{DType::f64, Shape{512}},      // a page
                       TensorType{DType::f64, Shape{2, 256}}};  // a page, too

// Two memories of this size, and storage.
Machine host(std::uint64_t size_bytes, const std::string& directory = "") {
  Machine machine;
  machine.memories = {{.name = "host", .size_bytes = size_bytes},
                      {.name = "other", .size_bytes = size_bytes},
                      {.name = "ssd",
                       .kind = MemoryKind::storage,
                       .size_bytes = size_bytes,
                       .directory = directory}};
  return machine;
}

// `count` replicas with one reader each, such as those of a chain of ops.
std::vector<ReplicaSpec> chain(std::size_t count) {
  return std::vector<ReplicaSpec>(count, {.memory = memory, .type = 0, .readers = 1});
}

BOOST_AUTO_TEST_CASE(the_last_reader_gets_the_buffer_with_its_values) {
  MemoryStore store(host(1 << 20), Backing::buffers);
  const ReplicaId x = store.install(chain(2), types);
  const ReplicaId y = ReplicaId::at(x.index() + 1);
  store.acquire(x);
  std::byte* const buffer = store.data(x);
  std::memset(buffer, 7, page);
  BOOST_TEST(store.hand_over(x, y));
  BOOST_TEST(store.data(x) == buffer);  // the op still reads it
  BOOST_TEST(store.data(y) == buffer);
  store.check_invariants();
  store.release(x);
  BOOST_TEST(!store.held(x));
  BOOST_TEST(store.data(y) == buffer);
  BOOST_TEST((*buffer == std::byte{7}));
  BOOST_TEST(store.pool().free_count(page) == 0U);
  store.release(y);
  BOOST_TEST(store.pool().free_count(page) == 1U);
  store.check_invariants();
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_unless_it_is_the_last_one_makes_room_for_the_other) {
  MemoryStore store(host(1 << 20), Backing::buffers);
  std::vector<ReplicaSpec> replicas = chain(2);
  replicas[0].readers = 2;
  const ReplicaId x = store.install(replicas, types);
  const ReplicaId y = ReplicaId::at(x.index() + 1);
  BOOST_TEST(store.release_unless_last(x));   // before it has been made
  BOOST_TEST(!store.release_unless_last(x));  // the other one is left
  store.acquire(x);
  BOOST_TEST(store.hand_over(x, y));
  store.release(x);
  store.check_invariants();
}

BOOST_AUTO_TEST_CASE(a_second_reader_keeps_the_buffer_until_it_is_done) {
  MemoryStore store(host(1 << 20), Backing::buffers);
  std::vector<ReplicaSpec> replicas = chain(2);
  replicas[0].readers = 2;
  const ReplicaId x = store.install(replicas, types);
  const ReplicaId y = ReplicaId::at(x.index() + 1);
  store.acquire(x);
  BOOST_TEST(!store.hand_over(x, y));
  BOOST_TEST(store.data(y) == nullptr);
  store.release(x);
  BOOST_TEST(store.hand_over(x, y));
}

BOOST_AUTO_TEST_CASE(
    what_leaves_a_digest_or_differs_in_type_or_memory_or_is_a_file_keeps_its_buffer) {
  const TemporaryDirectory directory;
  MemoryStore store(host(1 << 20, directory.path()), Backing::buffers);
  constexpr MemoryId disk{2};
  const auto refuses = [&](const ReplicaSpec& input, const ReplicaSpec& output) {
    const ReplicaId x = store.install(std::array{input, output}, types);
    store.acquire(x);
    return !store.hand_over(x, ReplicaId::at(x.index() + 1));
  };
  const ReplicaSpec one{.memory = memory, .type = 0, .readers = 1};
  const ReplicaSpec other_type{.memory = memory, .type = 1, .readers = 1};
  const ReplicaSpec elsewhere{.memory = other_memory, .type = 0, .readers = 1};
  const ReplicaSpec file{.memory = disk, .type = 0, .readers = 1};
  const ReplicaSpec digest{.memory = memory, .type = 0, .readers = 1, .leaves_digest = true};
  BOOST_TEST(refuses(digest, one));
  BOOST_TEST(refuses(one, other_type));
  BOOST_TEST(refuses(one, elsewhere));
  BOOST_TEST(refuses(file, file));
  BOOST_TEST(!refuses(one, digest));
  BOOST_TEST(!refuses(one, one));
}

BOOST_AUTO_TEST_CASE(a_chain_in_place_takes_one_buffer_however_long_it_is) {
  MemoryStore store(host(1 << 30), Backing::buffers);
  constexpr std::size_t length = 10'000;
  const ReplicaId first = store.install(chain(length), types);
  store.acquire(first);
  const std::uint64_t mapped = store.pool().bytes_mapped();
  for (std::size_t i = 1; i < length; ++i) {
    const ReplicaId input = ReplicaId::at(first.index() + i - 1);
    BOOST_REQUIRE(store.hand_over(input, ReplicaId::at(first.index() + i)));
    store.release(input);
  }
  BOOST_TEST(store.pool().bytes_mapped() == mapped);
  BOOST_TEST(store.bytes_used(memory) == page);
}

// Real and simulated runs count the same bytes.
BOOST_AUTO_TEST_CASE(a_chain_in_place_fits_a_memory_of_one_tensor) {
  for (const Backing backing : {Backing::accounted, Backing::buffers}) {
    MemoryStore store(host(page), backing);
    const ReplicaId first = store.install(chain(3), types);
    BOOST_TEST(store.is_tracked(memory));
    store.acquire(first);
    for (std::size_t i = 1; i < 3; ++i) {
      const ReplicaId input = ReplicaId::at(first.index() + i - 1);
      const ReplicaId output = ReplicaId::at(first.index() + i);
      BOOST_REQUIRE(store.hand_over(input, output));
      store.check_invariants();
      BOOST_TEST(store.bytes_used(memory) == page);
      store.release(input);
      store.check_invariants();
      BOOST_TEST(store.held(output));
    }
    store.release(ReplicaId::at(first.index() + 2));
    store.check_invariants();
    BOOST_TEST(store.bytes_used(memory) == 0U);
  }
}

// What is announced counts until its own last reader is done, whoever has its buffer.
BOOST_AUTO_TEST_CASE(announced_replicas_count_until_they_are_released) {
  MemoryStore store(host(2 * page), Backing::buffers, Counting::announced);
  const ReplicaId x = store.install(chain(2), types);
  const ReplicaId y = ReplicaId::at(x.index() + 1);
  store.acquire(x);
  BOOST_TEST(store.hand_over(x, y));
  BOOST_TEST(!store.has_room(chain(1), types));
  store.release(x);
  BOOST_TEST(store.has_room(chain(1), types));
  BOOST_TEST(!store.has_room(chain(2), types));
  store.release(y);
  BOOST_TEST(store.has_room(chain(2), types));
}

BOOST_AUTO_TEST_CASE(a_buffer_of_an_op_that_never_ended_is_freed_once) {
  MemoryStore store(host(1 << 20), Backing::buffers);
  for (int round = 0; round < 2; ++round) {
    const ReplicaId x = store.install(chain(2), types);
    store.acquire(x);
    BOOST_TEST(store.hand_over(x, ReplicaId::at(x.index() + 1)));
    store.clear();
    store.check_invariants();
    BOOST_TEST(store.pool().free_count(page) == 1U);
  }
}

// Readers on several threads; whoever is left alone computes in place. One of them, which never
// computes, leaves before others, as a session does.
BOOST_AUTO_TEST_CASE(of_concurrent_readers_only_the_last_one_can_get_the_buffer) {
  MemoryStore store(host(1 << 30), Backing::buffers);
  constexpr std::size_t threads = 4;
  constexpr std::size_t rounds = 2'000;
  std::vector<ReplicaSpec> replicas;
  for (std::size_t r = 0; r < rounds; ++r) {
    replicas.push_back({.memory = memory, .type = 0, .readers = threads + 1});
    for (std::size_t t = 0; t < threads; ++t) replicas.push_back({memory, 0, 1});
  }
  const ReplicaId first = store.install(replicas, types);
  const auto replica = [&](std::size_t r, std::size_t i) {
    return ReplicaId::at(first.index() + r * (threads + 1) + i);
  };
  for (std::size_t r = 0; r < rounds; ++r) {
    store.acquire(replica(r, 0));
    std::memset(store.data(replica(r, 0)), 1, page);
  }
  std::vector<std::size_t> wrong(threads, 0);
  std::vector<std::thread> readers;
  for (std::size_t t = 0; t < threads; ++t) {
    readers.emplace_back([&, t] {
      for (std::size_t r = 0; r < rounds; ++r) {
        const ReplicaId input = replica(r, 0);
        const ReplicaId output = replica(r, t + 1);
        if (!store.hand_over(input, output)) store.acquire(output);
        if (*store.data(input) != std::byte{1}) ++wrong[t];
        std::memset(store.data(output), 2, page);
        store.release(input);
        store.release(output);
      }
    });
  }
  for (std::size_t r = 0; r < rounds; ++r) {
    if (!store.release_unless_last(replica(r, 0))) store.release(replica(r, 0));
  }
  for (std::thread& reader : readers) reader.join();
  for (const std::size_t w : wrong) BOOST_TEST(w == 0U);
  store.check_invariants();
  BOOST_TEST(store.bytes_used(memory) == 0U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
