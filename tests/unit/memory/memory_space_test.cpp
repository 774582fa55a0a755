// A store that holds the tensors of a memory in a space of that memory's own.
#include "core/memory/memory_space.hpp"

#include "core/memory/memory_store.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(memory_space)
namespace {

constexpr MemoryId host{0};
constexpr MemoryId far{1};
constexpr MemoryId disk{2};

struct Seen {
  std::map<std::byte*, std::vector<std::byte>> held;
  std::uint64_t reserved = 0;
};

// Tensors that the host can't use where they are, as those of a GPU.
class FarSpace final : public MemorySpace {
 public:
  explicit FarSpace(Seen& seen) : seen_(seen) {}
  std::optional<std::uint64_t> free_bytes() const override { return 4096; }
  std::byte* take(ReplicaId, std::uint64_t bytes) override {
    std::vector<std::byte> room(bytes);
    std::byte* const start = room.data();
    seen_.held.emplace(start, std::move(room));
    return start;
  }
  void give(const Held& held) noexcept override { seen_.held.erase(held.buffer); }
  void reserve(std::span<const Need> needs) override {
    for (const Need& need : needs) seen_.reserved += need.bytes * need.count;
  }
  void read(const Held& held, std::byte* out) const override {
    std::memcpy(out, held.buffer, held.bytes);
  }
  void write(const Held& held, std::uint64_t offset, std::span<const std::byte> values) override {
    std::memcpy(held.buffer + offset, values.data(), values.size());
  }
  Digest digest(const Held& held) const override { return digest_of({held.buffer, held.bytes}); }

 private:
  Seen& seen_;
};

struct Store {
  Seen seen;
  std::vector<TensorType> types{{DType::f32, {256}}};
  MemoryStore store{machine(), MemoryStore::Backing::buffers, MemoryStore::Counting::acquired,
                    NodeId{}, [this](const Machine&, MemoryId m) -> std::unique_ptr<MemorySpace> {
                      return m == far ? std::make_unique<FarSpace>(seen) : nullptr;
                    }};

  static Machine machine() {
    Machine machine;
    machine.memories = {{.name = "host", .size_bytes = 1 << 20},
                        {.name = "far"},
                        {.name = "disk", .kind = MemoryKind::storage}};
    return machine;
  }
  std::vector<std::byte> values() const { return std::vector<std::byte>(1024, std::byte{42}); }
};

BOOST_FIXTURE_TEST_CASE(a_tensor_is_written_read_and_freed_through_its_space, Store) {
  const ReplicaId r = store.install(std::array{ReplicaSpec{far, 0, 1}}, types);
  store.acquire(r);
  BOOST_TEST(store.data(r) != nullptr);
  BOOST_TEST(!store.is_host_visible(r));
  store.write(r, values());
  std::vector<std::byte> read;
  store.read(r, read);
  BOOST_TEST((read == values()));
  BOOST_TEST(seen.held.size() == 1U);
  store.release(r);
  BOOST_TEST(seen.held.empty());
}

// In the memory of the host, in a space of its own, and in a file.
BOOST_FIXTURE_TEST_CASE(a_tensor_may_be_written_part_by_part, Store) {
  for (const MemoryId memory : {host, far, disk}) {
    const ReplicaId r = store.install(std::array{ReplicaSpec{memory, 0, 1}}, types);
    store.acquire(r);
    for (std::size_t half = 0; half < 2; ++half) {
      store.write(r, std::vector<std::byte>(512, std::byte(1 + half)), 512 * half);
    }
    std::vector<std::byte> read;
    store.read(r, read);
    BOOST_TEST(read.size() == 1024U);
    BOOST_TEST(std::count(read.begin(), read.begin() + 512, std::byte{1}) == 512);
    BOOST_TEST(std::count(read.begin() + 512, read.end(), std::byte{2}) == 512);
    store.release(r);
  }
}

BOOST_FIXTURE_TEST_CASE(a_tensor_that_leaves_a_digest_gets_that_of_its_values, Store) {
  const ReplicaId r = store.install(
      std::array{ReplicaSpec{.memory = far, .type = 0, .readers = 1, .leaves_digest = true}},
      types);
  store.acquire(r);
  store.write(r, values());
  store.release(r);
  BOOST_TEST((store.digest(r) == digest_of(values())));
}

BOOST_FIXTURE_TEST_CASE(an_op_in_place_gets_the_buffer_of_its_input, Store) {
  const ReplicaId x =
      store.install(std::array{ReplicaSpec{far, 0, 1}, ReplicaSpec{far, 0, 1}}, types);
  const ReplicaId y{x.value + 1};
  store.acquire(x);
  std::byte* const buffer = store.data(x);
  BOOST_TEST(store.hand_over(x, y));
  store.release(x);
  BOOST_TEST(store.data(y) == buffer);
  store.release(y);
  BOOST_TEST(seen.held.empty());
}

// Four tensors of 1 KiB fit into 4 KiB.
BOOST_FIXTURE_TEST_CASE(a_memory_without_a_size_has_what_its_space_says, Store) {
  const std::vector<ReplicaSpec> five(5, ReplicaSpec{far, 0, 1});
  BOOST_TEST(store.first_without_room(five, types) == 4U);
}

BOOST_FIXTURE_TEST_CASE(room_is_reserved_for_as_many_tensors_as_there_are_at_once, Store) {
  const std::vector<ReplicaSpec> three(3, ReplicaSpec{far, 0, 1});
  store.reserve_buffers(three, types, std::array<std::uint64_t, 1>{2});
  BOOST_TEST(seen.reserved == 2 * 1024U);
}

BOOST_FIXTURE_TEST_CASE(other_memories_stay_memory_of_the_host, Store) {
  const ReplicaId r = store.install(std::array{ReplicaSpec{host, 0, 1}}, types);
  store.acquire(r);
  BOOST_TEST(store.is_host_visible(r));
  BOOST_TEST(&store.pool(host) == &store.pool());
  store.release(r);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
