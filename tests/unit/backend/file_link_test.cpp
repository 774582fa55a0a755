#include "core/backend/file/file_backend.hpp"
#include "core/base/buffer_capacity.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/waiting_completions.hpp"

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(file_link)
namespace {

using testing::TemporaryDirectory;
using testing::WaitingCompletions;

constexpr MemoryId host{0};
constexpr MemoryId disk{1};
constexpr LinkId link{0};

//   host ──ssd0── disk
struct HostAndDisk {
  TemporaryDirectory directory;
  Machine machine = make_machine(directory.path());
  MemoryStore store{machine, MemoryStore::Backing::buffers};
  WaitingCompletions completions;
  std::unique_ptr<LinkBackend> backend = file_link_backend().make(
      {.machine = machine, .ops = builtin_ops(), .store = store, .completions = completions}, link);

  static Machine make_machine(const std::filesystem::path& directory) {
    Machine machine;
    machine.memories = {{.name = "host", .size_bytes = 64 << 20},
                        {.name = "disk", .kind = MemoryKind::storage, .directory = directory}};
    machine.links = {{.name = "ssd0", .a = host, .b = disk, .bandwidth = {1e9, 1e9}}};
    return machine;
  }

  // The same tensor in host, on disk and in host again.
  std::array<ReplicaId, 3> install(std::int64_t elements) {
    const std::array types{TensorType{DType::f32, Shape{elements}}};
    const std::array specs{ReplicaSpec{host, 0, 1}, ReplicaSpec{disk, 0, 1},
                           ReplicaSpec{host, 0, 1}};
    const ReplicaId first = store.install(specs, types);
    std::array<ReplicaId, 3> ids;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = ReplicaId::at(first.index() + i);
      store.acquire(ids[i]);
    }
    return ids;
  }

  WaitingCompletions::Told move(Direction direction, ReplicaId from, ReplicaId to) {
    const Started started =
        backend->start(direction, {.from = from, .to = to, .bytes = store.type(to).bytes()});
    BOOST_TEST((started.state == Started::State::pending));
    return completions.wait();
  }
};

BOOST_FIXTURE_TEST_CASE(a_tensor_survives_the_way_to_storage_and_back, HostAndDisk) {
  const auto [from, stored, back] = install(1'000'003);
  const std::uint64_t bytes = store.type(from).bytes();
  std::memset(store.data(from), 0x5A, bytes);
  BOOST_TEST(!move(Direction::forward, from, stored).cause.has_value());
  BOOST_TEST(std::filesystem::file_size(store.file(stored)) == bytes);
  BOOST_TEST(!move(Direction::backward, stored, back).cause.has_value());
  BOOST_TEST(std::memcmp(store.data(from), store.data(back), bytes) == 0);
}

// Tensors of less than a page share pages: a tensor that is read must not overwrite others.
BOOST_FIXTURE_TEST_CASE(a_small_tensor_survives_the_way_and_leaves_its_neighbours_alone,
                        HostAndDisk) {
  const auto [from, stored, back] = install(25);
  const auto [below, ignored, above] = install(25);
  const std::uint64_t bytes = store.type(from).bytes();
  BOOST_TEST(bytes == 100U);
  const auto capacity = static_cast<std::ptrdiff_t>(buffer_capacity(bytes));
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(store.data(back)) % 4096 != 0U);
  // At least one buffer is adjacent to `back` in memory.
  BOOST_TEST_REQUIRE((store.data(from) - store.data(back) == capacity ||
                      store.data(back) - store.data(from) == capacity ||
                      store.data(below) - store.data(back) == capacity ||
                      store.data(back) - store.data(below) == capacity));
  for (const ReplicaId r : {from, back, below, above}) {
    std::memset(store.data(r), 0xEE, buffer_capacity(bytes));
  }
  for (std::uint64_t i = 0; i < bytes; ++i) store.data(from)[i] = std::byte(i * 7 + 1);
  BOOST_TEST(!move(Direction::forward, from, stored).cause.has_value());
  BOOST_TEST(std::filesystem::file_size(store.file(stored)) == bytes);
  BOOST_TEST(!move(Direction::backward, stored, back).cause.has_value());
  BOOST_TEST(std::memcmp(store.data(from), store.data(back), bytes) == 0);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    BOOST_TEST_REQUIRE((store.data(back)[i] == std::byte(i * 7 + 1)));
    BOOST_TEST_REQUIRE((store.data(below)[i] == std::byte{0xEE}));
    BOOST_TEST_REQUIRE((store.data(above)[i] == std::byte{0xEE}));
  }
  for (auto i = bytes; i < buffer_capacity(bytes); ++i) {
    BOOST_TEST_REQUIRE((store.data(back)[i] == std::byte{0xEE}));
  }
}

BOOST_FIXTURE_TEST_CASE(a_storage_directory_that_disappears_fails_the_transfer_by_name,
                        HostAndDisk) {
  const auto [from, stored, back] = install(1000);
  std::filesystem::remove_all(store.file(stored).parent_path());
  for (const auto& told :
       {move(Direction::forward, from, stored), move(Direction::backward, stored, back)}) {
    BOOST_REQUIRE(told.cause.has_value());
    BOOST_TEST(told.cause->find(directory.path().string()) != std::string::npos);
    BOOST_TEST(told.cause->find("No such file or directory") != std::string::npos);
  }
}

BOOST_FIXTURE_TEST_CASE(each_direction_is_a_slot_of_its_own, HostAndDisk) {
  const auto [from, stored, back] = install(1000);
  BOOST_TEST(move(Direction::forward, from, stored).slot == 0U);
  BOOST_TEST(move(Direction::backward, stored, back).slot == 1U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
