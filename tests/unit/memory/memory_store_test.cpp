#include "core/memory/memory_store.hpp"

#include "core/base/buffer_capacity.hpp"
#include "core/base/error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <malloc.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(memory_store)
namespace {

using testing::TemporaryDirectory;
using Backing = MemoryStore::Backing;

constexpr MemoryId ram{0};
constexpr MemoryId disk{1};

Machine ram_and_disk(std::uint64_t ram_bytes, std::uint64_t disk_bytes,
                     std::string directory = "") {
  Machine machine;
  machine.memories = {{.name = "host", .kind = MemoryKind::ram, .size_bytes = ram_bytes},
                      {.name = "ssd",
                       .kind = MemoryKind::storage,
                       .size_bytes = disk_bytes,
                       .directory = std::move(directory)}};
  return machine;
}

const std::array types{TensorType{DType::f32, Shape{256}},       // 1 KiB
                       TensorType{DType::f64, Shape{1025, 3}}};  // 24,600 bytes

bool contains(const Error& e, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (std::string_view(e.what()).find(part) == std::string_view::npos) return false;
  }
  return true;
}

BOOST_AUTO_TEST_CASE(bytes_are_counted_from_acquire_to_the_last_release) {
  MemoryStore store(ram_and_disk(1 << 20, 1 << 20), Backing::accounted);
  const std::array replicas{ReplicaSpec{ram, 0, 2}, ReplicaSpec{ram, 1, 1}};
  const ReplicaId first = store.install(replicas, types);
  const ReplicaId second = ReplicaId::at(first.index() + 1);
  BOOST_TEST(store.bytes_used(ram) == 0U);

  store.acquire(first);
  store.acquire(second);
  store.check_invariants();
  BOOST_TEST(store.bytes_used(ram) == 1024U + 24600U);
  store.release(first);
  BOOST_TEST(store.held(first));
  store.release(first);
  store.check_invariants();
  BOOST_TEST(!store.held(first));
  BOOST_TEST(store.bytes_used(ram) == 24600U);
  store.release(second);
  store.check_invariants();
  BOOST_TEST(store.bytes_used(ram) == 0U);
  BOOST_TEST(store.bytes_used(disk) == 0U);
}

BOOST_AUTO_TEST_CASE(a_full_memory_says_what_is_needed_and_what_is_available) {
  MemoryStore store(ram_and_disk(1536, 0), Backing::accounted);
  const std::array replicas{ReplicaSpec{ram, 0, 1}, ReplicaSpec{ram, 0, 1}};
  const ReplicaId first = store.install(replicas, types);
  store.acquire(first);
  BOOST_CHECK_EXCEPTION(store.acquire(ReplicaId::at(first.index() + 1)), Error, [](const Error& e) {
    return e.kind() == ErrorKind::failed &&
           contains(e, {"'host'", "1 KiB needed", "512 B of 1.5 KiB available"});
  });
  store.check_invariants();
  store.release(first);
  store.acquire(ReplicaId::at(first.index() + 1));
  store.check_invariants();
}

BOOST_AUTO_TEST_CASE(an_accounted_memory_of_no_stated_size_takes_anything) {
  MemoryStore store(ram_and_disk(0, 0), Backing::accounted);
  const std::array huge{TensorType{DType::f64, Shape{Shape::max_elements}}};
  const ReplicaId r = store.install(std::array{ReplicaSpec{disk, 0, 1}}, huge);
  store.acquire(r);
  BOOST_TEST(store.bytes_used(disk) == huge[0].bytes());
  BOOST_TEST(store.file(r).empty());
  BOOST_TEST(store.data(r) == nullptr);
}

BOOST_AUTO_TEST_CASE(buffers_are_aligned_pooled_and_there_only_while_held) {
  MemoryStore store(ram_and_disk(1 << 20, 1 << 20), Backing::buffers);
  const std::array replicas{ReplicaSpec{ram, 0, 1}, ReplicaSpec{ram, 1, 1}};
  const ReplicaId first = store.install(replicas, types);
  const ReplicaId second = ReplicaId::at(first.index() + 1);
  BOOST_TEST(store.data(first) == nullptr);
  store.acquire(first);
  store.acquire(second);
  store.check_invariants();
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(store.data(first)) % 64 == 0U);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(store.data(second)) % 4096 == 0U);
  for (const ReplicaId r : {first, second}) {
    std::memset(store.data(r), 5, buffer_capacity(store.type(r).bytes()));
  }
  std::byte* const buffer = store.data(first);
  std::vector<std::byte> values;
  store.read(first, values);
  BOOST_TEST(values.size() == 1024U);
  BOOST_TEST((values.front() == std::byte{5} && values.back() == std::byte{5}));

  store.clear();
  store.check_invariants();
  BOOST_TEST(store.replica_count() == 0U);
  const ReplicaId again = store.install(replicas, types);
  BOOST_TEST(again.value == 0U);
  store.acquire(again);
  BOOST_TEST(store.data(again) == buffer);
}

BOOST_AUTO_TEST_CASE(a_tensor_in_storage_is_a_file_until_its_last_reader_is_done) {
  const TemporaryDirectory directory;
  {
    MemoryStore store(ram_and_disk(1 << 20, 0, directory.path()), Backing::buffers);
    BOOST_TEST(directory.entries() == 1U);
    const ReplicaId r = store.install(std::array{ReplicaSpec{disk, 0, 1}}, types);
    store.acquire(r);
    const std::filesystem::path file = store.file(r);
    BOOST_TEST(file.parent_path().parent_path() == directory.path());
    const std::string text(1024, 'x');
    std::ofstream(file) << text;
    std::vector<std::byte> values;
    store.read(r, values);
    BOOST_TEST(std::memcmp(values.data(), text.data(), text.size()) == 0);
    store.release(r);
    BOOST_TEST(!std::filesystem::exists(file));
    store.check_invariants();
  }
  BOOST_TEST(directory.entries() == 0U);
}

// A little more than 3 MB, since files are read in parts of 1 MiB.
BOOST_AUTO_TEST_CASE(a_freed_replica_leaves_the_digest_of_its_values_from_ram_and_from_a_file) {
  const TemporaryDirectory directory;
  MemoryStore store(ram_and_disk(8 << 20, 0, directory.path()), Backing::buffers);
  const std::array large{TensorType{DType::f32, Shape{750'001}}};
  const ReplicaSpec in_ram{.memory = ram, .type = 0, .readers = 2, .leaves_digest = true};
  const ReplicaSpec in_file{.memory = disk, .type = 0, .readers = 1, .leaves_digest = true};
  const ReplicaId first = store.install(std::array{in_ram, in_file, in_file}, large);
  const ReplicaId file = ReplicaId::at(first.index() + 1);
  const ReplicaId damaged = ReplicaId::at(first.index() + 2);
  std::vector<std::byte> values(large[0].bytes());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * i >> 3);
  const auto write = [&](ReplicaId r) {
    std::ofstream(store.file(r), std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size()));
  };
  for (const ReplicaId r : {first, file, damaged}) store.acquire(r);
  std::memcpy(store.data(first), values.data(), values.size());
  write(file);
  const Digest right = digest_of(values);
  values[2'500'000] ^= std::byte{1};
  write(damaged);

  store.release(first);
  BOOST_TEST(store.held(first));
  for (const ReplicaId r : {first, file, damaged}) {
    store.release(r);
    BOOST_TEST(!store.held(r));
  }
  BOOST_TEST((store.digest(first) == right));
  BOOST_TEST((store.digest(file) == right));
  BOOST_TEST((store.digest(damaged) != right));
  BOOST_TEST(!std::filesystem::exists(store.file(file)));
  store.check_invariants();
}

BOOST_AUTO_TEST_CASE(a_digest_is_taken_when_the_last_reader_is_done_and_not_before) {
  MemoryStore store(ram_and_disk(1 << 20, 0), Backing::buffers);
  const ReplicaSpec spec{.memory = ram, .type = 0, .readers = 2, .leaves_digest = true};
  const ReplicaId r = store.install(std::array{spec}, types);
  store.acquire(r);
  std::memset(store.data(r), 1, 1024);
  store.release(r);
  std::memset(store.data(r), 2, 1024);
  store.release(r);
  BOOST_TEST((store.digest(r) == digest_of(std::vector(1024, std::byte{2}))));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_gone_before_its_digest_is_taken_is_an_error) {
  const TemporaryDirectory directory;
  MemoryStore store(ram_and_disk(1 << 20, 0, directory.path()), Backing::buffers);
  const ReplicaSpec spec{.memory = disk, .type = 0, .readers = 1, .leaves_digest = true};
  const ReplicaId r = store.install(std::array{spec}, types);
  store.acquire(r);
  BOOST_CHECK_EXCEPTION(store.release(r), Error, [](const Error& e) {
    return e.kind() == ErrorKind::failed && contains(e, {"'ssd'", "1 KiB"});
  });
  store.clear();  // takes no digest
  store.check_invariants();
}

BOOST_AUTO_TEST_CASE(a_file_that_is_too_short_or_gone_is_an_error_when_read) {
  const TemporaryDirectory directory;
  MemoryStore store(ram_and_disk(1 << 20, 0, directory.path()), Backing::buffers);
  const ReplicaId r = store.install(std::array{ReplicaSpec{disk, 0, 1}}, types);
  store.acquire(r);
  std::vector<std::byte> values;
  const auto names_memory = [](const Error& e) { return contains(e, {"'ssd'", "1 KiB"}); };
  BOOST_CHECK_EXCEPTION(store.read(r, values), Error, names_memory);
  std::ofstream(store.file(r)) << "short";
  BOOST_CHECK_EXCEPTION(store.read(r, values), Error, names_memory);
}

BOOST_AUTO_TEST_CASE(a_storage_directory_that_is_not_there_is_a_usage_error_with_its_place) {
  Machine machine = ram_and_disk(1 << 20, 0, "/nowhere/at/all");
  machine.memories[1].place = {.file = "m.yaml", .line = 7, .column = 3};
  BOOST_CHECK_EXCEPTION(MemoryStore(machine, Backing::buffers), Error, [](const Error& e) {
    return e.kind() == ErrorKind::usage && contains(e, {"m.yaml:7:3", "'ssd'", "/nowhere/at/all"});
  });
  MemoryStore simulated(machine, Backing::accounted);  // touches no directory
  BOOST_TEST(simulated.replica_count() == 0U);
}

BOOST_AUTO_TEST_CASE(a_run_that_the_host_can_never_hold_is_refused_when_buffers_are_reserved) {
  MemoryStore store(ram_and_disk(std::uint64_t{1} << 60, 0), Backing::buffers);
  const std::array huge{TensorType{DType::f64, Shape{Shape::max_elements}}};
  BOOST_CHECK_THROW(store.reserve_buffers(std::array{ReplicaSpec{ram, 0, 1}}, huge), Error);
}

BOOST_AUTO_TEST_CASE(windows_with_other_types_keep_the_types_of_earlier_ones) {
  MemoryStore store(ram_and_disk(1 << 20, 1 << 20), Backing::accounted);
  const ReplicaId a = store.install(std::array{ReplicaSpec{ram, 0, 1}}, types);
  const std::array other{types[1], TensorType{DType::f32, Shape{3}}, types[0]};
  const ReplicaId b = store.install(
      std::array{ReplicaSpec{disk, 0, 1}, ReplicaSpec{ram, 1, 1}, ReplicaSpec{ram, 2, 1}}, other);
  BOOST_TEST((store.type(a) == types[0]));
  for (std::size_t i = 0; i < other.size(); ++i) {
    BOOST_TEST((store.type(ReplicaId::at(b.index() + i)) == other[i]));
  }
  BOOST_TEST((store.memory(b) == disk));
}

// More types than intern() compares first, in both memories, consecutive and alternating.
BOOST_AUTO_TEST_CASE(replicas_of_many_types_in_several_memories_keep_type_memory_and_bytes) {
  std::vector<TensorType> many;
  for (std::int64_t n = 1; n <= 100; ++n) many.push_back({DType::f32, Shape{n}});
  std::vector<ReplicaSpec> replicas;
  for (std::uint32_t type = 0; type < many.size(); ++type) {
    for (const MemoryId memory : {ram, ram, disk, ram, disk, disk}) {
      replicas.push_back({memory, type, 1});
    }
  }
  for (std::uint32_t type = 0; type < many.size(); ++type) replicas.push_back({ram, type, 1});
  // RAM just holds its replicas: 4 bytes × 1 … 100, four times.
  MemoryStore store(ram_and_disk(std::uint64_t{4} * 4 * 5050, 1 << 20), Backing::accounted);
  const ReplicaId first = store.install(replicas, many);
  BOOST_TEST(!store.is_tracked(ram));
  std::uint64_t bytes[2] = {0, 0};
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const ReplicaId r = ReplicaId::at(first.index() + i);
    BOOST_TEST((store.type(r) == many[replicas[i].type]));
    BOOST_TEST((store.memory(r) == replicas[i].memory));
    store.acquire(r);
    bytes[replicas[i].memory.index()] += many[replicas[i].type].bytes();
  }
  BOOST_TEST(store.bytes_used(ram) == bytes[0]);
  BOOST_TEST(store.bytes_used(disk) == bytes[1]);
  BOOST_TEST(bytes[0] == 4U * 4 * 5050);
  store.install(std::array{ReplicaSpec{ram, 0, 1}}, many);
  BOOST_TEST(store.is_tracked(ram));
  store.check_invariants();
}

BOOST_AUTO_TEST_CASE(a_view_is_the_type_and_the_values_where_there_are_any) {
  const TemporaryDirectory directory;
  const std::array replicas{ReplicaSpec{ram, 1, 1}, ReplicaSpec{disk, 0, 1}};
  for (const Backing backing : {Backing::buffers, Backing::accounted}) {
    MemoryStore store(ram_and_disk(1 << 20, 1 << 20, directory.path()), backing);
    const ReplicaId in_ram = store.install(replicas, types);
    const ReplicaId on_disk = ReplicaId::at(in_ram.index() + 1);
    BOOST_TEST(store.view(in_ram).data == nullptr);
    for (const ReplicaId r : {in_ram, on_disk}) store.acquire(r);
    BOOST_TEST((store.view(in_ram).type == types[1]));
    BOOST_TEST((store.view(on_disk).type == types[0]));
    BOOST_TEST(store.view(in_ram).data == store.data(in_ram));
    BOOST_TEST((store.view(in_ram).data != nullptr) == (backing == Backing::buffers));
    BOOST_TEST(store.view(on_disk).data == nullptr);
    for (const ReplicaId r : {in_ram, on_disk}) {
      BOOST_TEST(store.held(r));
      store.release(r);
      BOOST_TEST(!store.held(r));
    }
    BOOST_TEST(store.view(in_ram).data == nullptr);
  }
}

BOOST_AUTO_TEST_CASE(counters_stay_right_when_threads_acquire_and_release_at_once) {
  MemoryStore store(ram_and_disk(64 << 20, 0), Backing::buffers);
  constexpr std::size_t threads = 4;
  constexpr std::size_t each = 500;
  std::vector<ReplicaSpec> replicas(threads * each, ReplicaSpec{ram, 0, 1});
  const ReplicaId first = store.install(replicas, types);
  std::vector<std::thread> workers;
  for (std::size_t t = 0; t < threads; ++t) {
    workers.emplace_back([&store, first, t] {
      for (std::size_t i = 0; i < each; ++i) {
        const ReplicaId r = ReplicaId::at(first.index() + t * each + i);
        store.acquire(r);
        *store.data(r) = std::byte{1};
        if (i % 2 == 0) store.release(r);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  store.check_invariants();
  BOOST_TEST(store.bytes_used(ram) == threads * each / 2 * 1024);
}

BOOST_AUTO_TEST_CASE(a_private_replica_is_freed_by_its_last_reader_like_any_other) {
  MemoryStore store(ram_and_disk(1 << 20, 0), Backing::buffers);
  const ReplicaId r = store.install(
      std::array{ReplicaSpec{
          .memory = ram, .type = 0, .readers = 3, .leaves_digest = true, .is_private = true}},
      types);
  BufferCache cache(store.pool());
  store.acquire(r, cache);
  std::memset(store.data(r), 3, store.type(r).bytes());
  const Digest wanted = digest_of({store.data(r), store.type(r).bytes()});
  for (int reader = 0; reader < 2; ++reader) {
    store.release(r, cache);
    BOOST_TEST(store.held(r));
    BOOST_TEST(store.data(r) != nullptr);
  }
  store.release(r, cache);
  BOOST_TEST(!store.held(r));
  BOOST_TEST(store.data(r) == nullptr);
  BOOST_TEST((store.digest(r) == wanted));
  store.check_invariants();
}

BOOST_AUTO_TEST_CASE(a_memory_without_buffers_in_which_everything_fits_is_not_tracked) {
  MemoryStore store(ram_and_disk(2048, 1 << 20), Backing::accounted);
  const std::array two{ReplicaSpec{ram, 0, 1}, ReplicaSpec{ram, 0, 1}};
  const std::array three{ReplicaSpec{ram, 0, 1}, ReplicaSpec{ram, 0, 1}, ReplicaSpec{ram, 0, 1},
                         ReplicaSpec{disk, 0, 1}};
  store.install(two, types);
  BOOST_TEST(!store.is_tracked(ram));
  BOOST_TEST(!store.is_tracked(disk));
  store.clear();
  store.install(three, types);
  BOOST_TEST(store.is_tracked(ram));
  BOOST_TEST(!store.is_tracked(disk));
  store.clear();
  store.install(two, types);
  BOOST_TEST(!store.is_tracked(ram));

  MemoryStore backed(ram_and_disk(1 << 20, 0), Backing::buffers);
  backed.install(two, types);
  BOOST_TEST(backed.is_tracked(ram));
}

BOOST_AUTO_TEST_CASE(a_memory_that_becomes_too_small_counts_the_replicas_held_already) {
  MemoryStore store(ram_and_disk(2048, 0), Backing::accounted);
  const ReplicaId first =
      store.install(std::array{ReplicaSpec{ram, 0, 1}, ReplicaSpec{ram, 0, 1}}, types);
  const ReplicaId second = ReplicaId::at(first.index() + 1);
  store.acquire(first);
  BOOST_TEST(!store.is_tracked(ram));
  const ReplicaId third = store.install(std::array{ReplicaSpec{ram, 0, 1}}, types);
  BOOST_TEST(store.is_tracked(ram));
  store.check_invariants();
  store.acquire(second);
  BOOST_CHECK_EXCEPTION(store.acquire(third), Error,
                        [](const Error& e) { return contains(e, {"0 B of 2 KiB available"}); });
  BOOST_TEST(!store.held(third));
  store.release(first);
  store.acquire(third);
  store.check_invariants();
  store.release(second);
  store.release(third);
  store.check_invariants();
  BOOST_TEST(store.bytes_used(ram) == 0U);
}

// A run has a replica for each op and transfer. Four fit into a cache line.
BOOST_AUTO_TEST_CASE(a_replica_costs_16_bytes) {
  constexpr std::size_t count = 640'000;
  const std::vector<ReplicaSpec> replicas(count, ReplicaSpec{ram, 0, 1});
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  for (const Backing backing : {Backing::accounted, Backing::buffers}) {
    MemoryStore store(ram_and_disk(1 << 30, 0), backing);
    const std::size_t before = in_use();
    store.install(replicas, types);
    const double bytes_each = static_cast<double>(in_use() - before) / count;
    BOOST_TEST_MESSAGE("bytes a replica: " << bytes_each);
    BOOST_TEST(bytes_each < 16.5);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
