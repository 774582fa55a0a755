// The memory store of a stream: windows are installed and forgotten during the run.
#include "core/memory/memory_store.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <malloc.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(memory_store_windows)
namespace {

using Backing = MemoryStore::Backing;

constexpr MemoryId a{0};
constexpr MemoryId b{1};
constexpr Backing all_backings[] = {Backing::accounted, Backing::buffers};

Machine two_memories(std::uint64_t a_bytes, std::uint64_t b_bytes) {
  Machine machine;
  machine.memories = {{.name = "a", .size_bytes = a_bytes}, {.name = "b", .size_bytes = b_bytes}};
  return machine;
}

const std::array types{TensorType{DType::f32, Shape{256}},  // 1 KiB
                       TensorType{DType::f64, Shape{8}}};   // 64 bytes

std::vector<ReplicaSpec> kibibytes(MemoryId memory, std::size_t count) {
  return std::vector<ReplicaSpec>(count, ReplicaSpec{memory, 0, 1});
}

std::size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

BOOST_AUTO_TEST_CASE(a_memory_has_room_for_replicas_that_fit_besides_those_announced) {
  MemoryStore store(two_memories(4096, 1024), Backing::accounted);
  BOOST_TEST(store.has_room(kibibytes(a, 4), types));
  BOOST_TEST(!store.has_room(kibibytes(a, 5), types));
  const ReplicaId first = store.install(kibibytes(a, 3), types);
  // Room doesn't depend on whether replicas are held.
  for (int step = 0; step < 3; ++step) {
    BOOST_TEST(store.has_room({}, types));
    BOOST_TEST(store.has_room(kibibytes(a, 1), types));
    BOOST_TEST(!store.has_room(kibibytes(a, 2), types));
    if (step == 0) store.acquire(first);
    if (step == 1) store.release(first);
  }
  // 1 KiB is left; the smaller type takes 64 bytes.
  BOOST_TEST(store.has_room(std::vector(16, ReplicaSpec{a, 1, 1}), types));
  BOOST_TEST(!store.has_room(std::vector(17, ReplicaSpec{a, 1, 1}), types));
  BOOST_TEST(!store.has_room(std::array{ReplicaSpec{a, 0, 1}, ReplicaSpec{a, 1, 1}}, types));
}

BOOST_AUTO_TEST_CASE(every_memory_must_have_room_for_its_part) {
  MemoryStore store(two_memories(4096, 1024), Backing::accounted);
  const ReplicaSpec in_a{a, 0, 1};
  const ReplicaSpec in_b{b, 0, 1};
  BOOST_TEST(store.has_room(std::array{in_a, in_b, in_a, in_a}, types));
  BOOST_TEST(!store.has_room(std::array{in_a, in_b, in_b}, types));
  store.install(std::array{in_b}, types);
  BOOST_TEST(store.has_room(std::array{in_a}, types));
  BOOST_TEST(!store.has_room(std::array{in_a, in_b}, types));
}

BOOST_AUTO_TEST_CASE(a_memory_of_no_stated_size_has_room_for_anything) {
  MemoryStore store(two_memories(0, 1024), Backing::accounted);
  const std::array huge{TensorType{DType::f64, Shape{Shape::max_elements}}};
  store.install(std::array{ReplicaSpec{a, 0, 1}}, huge);
  BOOST_TEST(store.has_room(std::array{ReplicaSpec{a, 0, 1}}, huge));
  BOOST_TEST(!store.has_room(std::array{ReplicaSpec{b, 0, 1}}, huge));
}

BOOST_AUTO_TEST_CASE(a_memory_has_no_room_for_tensors_of_more_than_2_to_the_64_bytes) {
  Machine machine;
  machine.memories = {{.name = "host", .size_bytes = 1024}};
  MemoryStore store(machine, MemoryStore::Backing::accounted);
  const std::array tensors{TensorType{DType::f64, Shape{1 << 20, 1 << 20}}};  // 8 TiB
  const std::vector<ReplicaSpec> replicas(1 << 21, {.memory = MemoryId{0}, .readers = 1});
  BOOST_TEST(!store.has_room(replicas, tensors));
  store.install(replicas, tensors);
  BOOST_TEST(store.is_tracked(MemoryId{0}));
}

BOOST_AUTO_TEST_CASE(forgotten_replicas_make_room_and_ids_go_on) {
  for (const Backing backing : all_backings) {
    MemoryStore store(two_memories(4096, 1024), backing);
    store.install(kibibytes(a, 3), types);
    store.install(std::array{ReplicaSpec{b, 0, 1}}, types);
    BOOST_TEST(!store.has_room(kibibytes(a, 2), types));
    store.forget_before(ReplicaId{2});
    BOOST_TEST(store.replica_count() == 2U);
    BOOST_TEST(store.has_room(kibibytes(a, 3), types));
    BOOST_TEST(!store.has_room(kibibytes(a, 4), types));
    BOOST_TEST(!store.has_room(kibibytes(b, 1), types));
    store.forget_before(ReplicaId{1});  // forgotten already
    store.forget_before(ReplicaId{2});
    BOOST_TEST(store.replica_count() == 2U);
    BOOST_TEST(!store.has_room(kibibytes(a, 4), types));
    store.forget_before(ReplicaId{4});
    BOOST_TEST(store.replica_count() == 0U);
    BOOST_TEST(store.has_room(kibibytes(a, 4), types));
    BOOST_TEST(store.has_room(kibibytes(b, 1), types));
    BOOST_TEST((store.install(kibibytes(a, 1), types) == ReplicaId{4}));
    store.check_invariants();
  }
}

BOOST_AUTO_TEST_CASE(windows_that_fit_one_after_the_other_need_no_counting) {
  MemoryStore store(two_memories(4096, 1024), Backing::accounted);
  for (int window = 0; window < 1000; ++window) {
    BOOST_TEST_REQUIRE(store.has_room(kibibytes(a, 4), types));
    const ReplicaId first = store.install(kibibytes(a, 4), types);
    BOOST_TEST(!store.has_room(kibibytes(a, 1), types));
    store.forget_before(ReplicaId::at(first.index() + 4));
  }
  BOOST_TEST(!store.is_tracked(a));
}

// A window takes a quarter of a block of replicas, a whole block, or more.
BOOST_AUTO_TEST_CASE(
    memory_depends_on_the_replicas_announced_at_once_not_on_the_number_of_windows) {
  for (const Backing backing : all_backings) {
    for (const std::size_t each : {1000U, 4096U, 6000U}) {
      MemoryStore store(two_memories(64 << 20, 1024), backing);
      const std::vector<ReplicaSpec> window(each, ReplicaSpec{a, 1, 1});
      std::size_t before = 0;
      for (std::size_t w = 0; w < 500; ++w) {
        if (w == 20) before = bytes_in_use();
        store.install(window, types);
        if (w >= 3) store.forget_before(ReplicaId::at((w - 2) * each));
      }
      // If replicas were kept, even the smallest windows would take 16 bytes each, 7.7 MB.
      const std::size_t now = bytes_in_use();
      BOOST_TEST(now < before + (256 << 10), now - before << " bytes more");
      BOOST_TEST(store.replica_count() == 3 * each);
    }
  }
}

// The numbers of replicas forgotten at once are no multiples of the block size.
BOOST_AUTO_TEST_CASE(replicas_that_are_not_forgotten_stay_while_the_memory_of_others_is_reused) {
  constexpr std::size_t each = 3001;
  constexpr std::size_t kept = 4;  // windows
  MemoryStore store(two_memories(64 << 20, 64 << 20), Backing::accounted);
  const auto type_of = [](std::size_t r) { return static_cast<std::uint32_t>(r / each % 2); };
  const auto memory_of = [](std::size_t r) { return r % 3 == 0 ? b : a; };
  for (std::size_t w = 0; w < 40; ++w) {
    std::vector<ReplicaSpec> specs;
    for (std::size_t r = w * each; r < (w + 1) * each; ++r) {
      specs.push_back({memory_of(r), type_of(r), 1});
    }
    store.install(specs, types);
    const std::size_t oldest = w < kept ? 0 : (w - kept) * each;
    std::size_t wrong = 0;
    for (std::size_t r = oldest; r < (w + 1) * each; ++r) {
      const ReplicaId id = ReplicaId::at(r);
      if (store.type(id) != types[type_of(r)] || store.memory(id) != memory_of(r)) ++wrong;
      if (r < w * each && !store.held(id)) ++wrong;
      if (r >= w * each) store.acquire(id);
    }
    BOOST_TEST(wrong == 0U);
    if (w < kept) continue;
    for (std::size_t r = oldest; r < oldest + each; ++r) store.release(ReplicaId::at(r));
    store.forget_before(ReplicaId::at(oldest + each));
    store.check_invariants();
  }
}

// More types than intern() compares first.
BOOST_AUTO_TEST_CASE(memory_does_not_grow_with_the_windows_if_they_alternate_between_many_types) {
  std::vector<TensorType> many;
  std::vector<ReplicaSpec> window;
  for (std::uint32_t type = 0; type < 200; ++type) {
    many.push_back({DType::f32, Shape{type + 1}});
    window.push_back({a, type, 1});
    window.push_back({b, type, 1});
  }
  MemoryStore store(two_memories(64 << 20, 64 << 20), Backing::accounted);
  std::size_t before = 0;
  for (std::size_t w = 0; w < 200; ++w) {
    if (w == 20) before = bytes_in_use();
    const ReplicaId first = store.install(window, many);
    BOOST_TEST((store.type(ReplicaId::at(first.index() + 150)) == many[75]));
    BOOST_TEST((store.memory(ReplicaId::at(first.index() + 151)) == b));
    store.forget_before(ReplicaId::at((w + 1) * window.size()));
  }
  const std::size_t now = bytes_in_use();
  BOOST_TEST(now < before + (256 << 10), now - before << " bytes more");
}

BOOST_AUTO_TEST_CASE(buffers_are_used_again_window_after_window) {
  MemoryStore store(two_memories(1 << 20, 1024), Backing::buffers);
  const std::vector<ReplicaSpec> window = kibibytes(a, 64);
  std::uint64_t mapped = 0;
  for (std::size_t w = 0; w < 200; ++w) {
    store.reserve_buffers(window, types);
    const ReplicaId first = store.install(window, types);
    for (std::size_t i = 0; i < window.size(); ++i) {
      store.acquire(ReplicaId::at(first.index() + i));
      store.data(ReplicaId::at(first.index() + i))[1023] = std::byte{1};
    }
    for (std::size_t i = 0; i < window.size(); ++i) store.release(ReplicaId::at(first.index() + i));
    store.forget_before(ReplicaId::at(first.index() + window.size()));
    if (w == 0) mapped = store.pool().bytes_mapped();
  }
  BOOST_TEST(mapped >= 64U * 1024);
  BOOST_TEST(store.pool().bytes_mapped() == mapped);
}

BOOST_AUTO_TEST_CASE(a_replica_that_gets_more_readers_is_held_until_the_last_one_is_done) {
  for (const Backing backing : all_backings) {
    MemoryStore store(two_memories(1 << 20, 1024), backing);
    const ReplicaId r = store.install(kibibytes(a, 1), types);
    store.acquire(r);
    store.install(kibibytes(a, 1), types);
    store.add_readers(r, 2);
    store.release(r);
    store.add_readers(r, 1);
    for (int reader = 0; reader < 3; ++reader) {
      BOOST_TEST(store.held(r));
      store.release(r);
    }
    BOOST_TEST(!store.held(r));
    store.check_invariants();
  }
}

BOOST_AUTO_TEST_CASE(readers_may_come_before_the_replica_is_made) {
  MemoryStore store(two_memories(1 << 20, 1024), Backing::buffers);
  const ReplicaId r = store.install(kibibytes(a, 1), types);
  store.add_readers(r, 1);
  store.acquire(r);
  store.release(r);
  BOOST_TEST(store.held(r));
  store.release(r);
  BOOST_TEST(!store.held(r));
}

// Two workers make and read the replicas of announced windows. Meanwhile this thread announces
// further windows, adds readers to replicas of earlier windows, and forgets replicas that were
// freed. Of a window
//   replicas  0 …  7 are read by both workers and held for later windows,
//             8 … 15 are read by both workers,
//            16 … 23 are read by the worker that makes them.
class Relay {
 public:
  static constexpr std::size_t windows = 3000;

  void run() {
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < 2; ++t) workers.emplace_back([this, t] { work(t); });
    for (std::size_t w = 0; w < windows; ++w) announce(w);
    for (std::thread& worker : workers) worker.join();
    keep_from(windows + 2);
    BOOST_TEST(wrong_ == 0U);
    BOOST_TEST(store_.replica_count() == 0U);
    BOOST_TEST(store_.bytes_used(a) == 0U);
    store_.check_invariants();
  }

 private:
  static constexpr std::size_t each = 24;
  static constexpr std::size_t held = 8;
  // Windows that fit the memory at once, so that one worker may fall behind the other.
  static constexpr std::size_t at_once = 6;

  static std::vector<ReplicaSpec> specs() {
    std::vector<ReplicaSpec> specs;
    for (std::size_t i = 0; i < each; ++i) {
      const bool is_private = i >= 16;
      specs.push_back({.memory = a,
                       .type = 0,
                       .readers = i < held     ? 3U
                                  : is_private ? 1U
                                               : 2U,
                       .is_private = is_private});
    }
    return specs;
  }
  static ReplicaId replica(std::size_t window, std::size_t i) {
    return ReplicaId::at(window * each + i);
  }
  static bool is_read_again(std::size_t i) { return i < held && i % 2 == 0; }

  void announce(std::size_t w) {
    keep_from(w);
    while (!store_.has_room(specs_, types)) {
      std::this_thread::yield();
      keep_from(w);
    }
    store_.reserve_buffers(specs_, types);
    BOOST_TEST((store_.install(specs_, types) == replica(w, 0)));
    for (std::size_t i = 0; w >= 2 && i < held; ++i) {
      if (is_read_again(i)) store_.add_readers(replica(w - 2, i), 2);
    }
    told_.store(w + 1, std::memory_order_release);
  }

  // Window w reads replicas of window w - 2 again, and none older.
  void keep_from(std::size_t w) {
    const std::size_t done = std::min(done_[0].load(std::memory_order_acquire),
                                      done_[1].load(std::memory_order_acquire));
    for (; released_ + 2 < w && released_ < done; ++released_) {
      for (std::size_t i = 0; i < held; ++i) store_.release(replica(released_, i));
    }
    // A window can be forgotten when the window that reads it again is done.
    const std::size_t gone = done == windows ? windows : done < 2 ? 0 : done - 2;
    store_.forget_before(replica(std::min(released_, gone), 0));
  }

  void work(std::size_t self) {
    BufferCache cache(store_.pool());
    for (std::size_t w = 0; w < windows; ++w) {
      await(told_, w);
      for (std::size_t i = self; i < each; i += 2) {
        store_.acquire(replica(w, i), cache);
        std::memset(store_.data(replica(w, i)), stamp(w, i), types[0].bytes());
      }
      made_[self].store(w + 1, std::memory_order_release);
      await(made_[1 - self], w);
      for (std::size_t i = 0; i < each; ++i) {
        if (i < 16 || i % 2 == self) read(w, i, cache);
      }
      for (std::size_t i = 0; w >= 2 && i < held; ++i) {
        if (is_read_again(i)) read(w - 2, i, cache);
      }
      done_[self].store(w + 1, std::memory_order_release);
    }
  }
  static void await(const std::atomic<std::size_t>& count, std::size_t w) {
    while (count.load(std::memory_order_acquire) <= w) std::this_thread::yield();
  }
  static int stamp(std::size_t w, std::size_t i) { return static_cast<int>((31 * w + i) % 251); }
  void read(std::size_t w, std::size_t i, BufferCache& cache) {
    const MemoryStore::View view = store_.view(replica(w, i));
    const auto wanted = static_cast<std::byte>(stamp(w, i));
    if (view.data == nullptr || view.data[0] != wanted || view.data[1023] != wanted) ++wrong_;
    store_.release(replica(w, i), cache);
  }

  const std::vector<ReplicaSpec> specs_ = specs();
  MemoryStore store_{two_memories(at_once * each * 1024, 1024), Backing::buffers};
  std::atomic<std::size_t> told_ = 0;  // windows announced
  std::array<std::atomic<std::size_t>, 2> made_{};
  std::array<std::atomic<std::size_t>, 2> done_{};
  std::size_t released_ = 0;
  std::atomic<std::size_t> wrong_ = 0;
};

BOOST_AUTO_TEST_CASE(threads_use_earlier_windows_while_further_ones_are_installed) {
  Relay().run();
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
