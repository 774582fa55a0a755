// Sessions with memories that are full: what moves out, what waits, and what is refused.
#include "core/base/random.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/unit/actors/small_memory.hpp"

#include <cstdint>
#include <future>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(session_room)
namespace {

using testing::all_modes;
using testing::check_error;
using testing::Gate;
using testing::hundred_kib;
using testing::of_18_kib;
using testing::with_small_memory;

const std::string this_file = "session_room_test.cpp";

Machine with_small_memory_and_disk() {
  Machine machine = with_small_memory();
  machine.devices.erase(machine.devices.begin());
  machine.devices[0].memory = MemoryId{1};
  machine.memories[0] = {.name = "disk", .kind = MemoryKind::storage, .size_bytes = 1 << 30};
  return machine;
}

// Not a test of values in a simulation.
void check_sums(Session& s, Mode mode, const std::vector<Tensor>& kept,
                std::span<const Tensor> sums) {
  s.wait_all();
  if (!computes_values(mode)) return;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::vector<float> values = kept[i].read<float>();
    const double expected = std::accumulate(values.begin(), values.end(), 0.0);
    BOOST_TEST(sums[i].read<float>()[0] == expected, boost::test_tools::tolerance(1e-5));
    BOOST_TEST(values == Session().uniform(of_18_kib, i).read<float>());
  }
}

// What a program does with tensors of one value each, more than fit both memories. Returns how many
// of them had others.
int use_at_random(Session& s, std::uint64_t seed) {
  int wrong = 0;
  Random random(seed);
  struct Known {
    Tensor tensor;
    float value;
  };
  std::vector<Known> live;
  const auto any = [&]() -> const Known& { return live[random.below(live.size())]; };
  const auto give = [&] {
    const auto value = static_cast<float>(random.below(1000));
    live.push_back({s.tensor(std::vector<float>(4608, value), of_18_kib), value});
  };
  const auto act = [&] {
    switch (random.below(4)) {
      case 0:
        return give();
      case 1: {
        const Known x = any();
        const Known y = any();
        return live.push_back({x.tensor + y.tensor, x.value + y.value});
      }
      default: {
        const Known x = any();
        const std::vector<float> values = x.tensor.read<float>();
        if (values != std::vector<float>(values.size(), x.value)) ++wrong;
      }
    }
  };
  while (live.size() < 8) give();
  for (int step = 0; step < 400; ++step) {
    const std::uint64_t where = random.below(3);
    if (where < 2) {
      const DeviceScope on = s.on(s.machine().devices[where].name);
      act();
    } else {
      act();
    }
    while (live.size() > 12) live.erase(live.begin());
  }
  return wrong;
}

// What is in a memory that is full can't go elsewhere.
Machine without_links(std::uint64_t memory_bytes) {
  Machine machine = testing::session_machine(memory_bytes);
  machine.links.clear();
  return machine;
}

}  // namespace

BOOST_AUTO_TEST_CASE(tensors_move_out_of_a_full_memory_to_one_that_has_room) {
  for (const Mode mode : all_modes) {
    for (const bool waits : {true, false}) {
      BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode) << ", waits " << waits) {
        Session s(with_small_memory(), {.mode = mode});
        std::vector<Tensor> kept;
        std::vector<Tensor> sums;
        const DeviceScope on = s.on("cpu1");
        for (std::uint64_t i = 0; i < 20; ++i) {
          kept.push_back(s.uniform(of_18_kib, i));
          if (waits) s.wait_all();
        }
        for (const Tensor& x : kept) sums.push_back(sum(x, 0));
        check_sums(s, mode, kept, sums);
      }
    }
  }
}

// Five tensors fill the memory. The sixth one moves one out: a would have to come back.
BOOST_AUTO_TEST_CASE(what_was_used_least_recently_moves_out_first) {
  Session s(with_small_memory(), {.mode = Mode::simulate});
  const ScenarioReport& report = s.measure("all", [&] {
    const DeviceScope on = s.on("cpu1");
    const Tensor a = s.zeros(of_18_kib);
    const Tensor b = s.zeros(of_18_kib);
    const Tensor c = s.zeros(of_18_kib);
    const Tensor d = s.zeros(of_18_kib);
    const Tensor e = s.zeros(of_18_kib);
    sum(a, 0).wait();
    const Tensor f = s.zeros(of_18_kib);
    f.wait();
    sum(a, 0).wait();
  });
  BOOST_TEST(report.transfers == 1U);
}

BOOST_AUTO_TEST_CASE(tensors_move_from_memory_to_storage_where_no_memory_has_room) {
  for (const Mode mode : all_modes) {
    Session s(with_small_memory_and_disk(), {.mode = mode});
    std::vector<Tensor> kept;
    std::vector<Tensor> sums;
    for (std::uint64_t i = 0; i < 20; ++i) kept.push_back(s.uniform(of_18_kib, i));
    for (const Tensor& x : kept) sums.push_back(sum(x, 0));
    check_sums(s, mode, kept, sums);
  }
}

// Five tensors fill the memory; the other ones are on the disk by then. A rehearsal writes no file.
BOOST_AUTO_TEST_CASE(a_tensor_that_has_moved_to_storage_is_copied_there_as_any_other) {
  for (const Mode mode : {Mode::run, Mode::rehearse}) {
    Machine machine = with_small_memory_and_disk();
    if (mode == Mode::rehearse) machine.memories[0].directory = "/no such directory";
    Session s(machine, {.mode = mode});
    std::vector<Tensor> kept;
    for (std::uint64_t i = 0; i < 12; ++i) kept.push_back(s.uniform(of_18_kib, i));
    s.wait_all();
    std::vector<Tensor> copies;
    for (const Tensor& x : kept) copies.push_back(x.to("disk"));
    kept.clear();
    for (std::size_t i = 0; i < copies.size(); ++i) {
      BOOST_TEST(copies[i].read<float>() == Session().uniform(of_18_kib, i).read<float>(),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_policy_takes_a_device_whose_memory_has_room) {
  Machine machine = with_small_memory();
  machine.devices[1].flops = 1e11;
  machine.devices[1].bandwidth = 1e12;
  Session s(machine, {.mode = Mode::simulate});
  std::vector<Tensor> kept;
  {
    const DeviceScope on = s.on("cpu1");
    for (int i = 0; i < 5; ++i) kept.push_back(s.zeros(of_18_kib));
  }
  s.wait_all();
  const ScenarioReport& report = s.measure("more", [&] { kept.push_back(s.zeros(of_18_kib)); });
  BOOST_TEST(report.transfers == 0U);
  BOOST_TEST((report.resources[0].busy > Duration{0}));
}

BOOST_AUTO_TEST_CASE(values_are_right_however_tensors_move_between_full_memories) {
  Machine machine = testing::session_machine(hundred_kib);
  machine.memories.push_back({.name = "disk", .kind = MemoryKind::storage, .size_bytes = 1 << 30});
  machine.links.push_back(
      {.name = "file", .a = MemoryId{0}, .b = MemoryId{2}, .bandwidth = {1e9, 1e9}});
  for (std::uint64_t seed = testing::first_seed(); seed <= testing::seeds(5); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Session s(machine);
      auto other = std::async(std::launch::async, [&] { return use_at_random(s, 1000 + seed); });
      BOOST_TEST(use_at_random(s, seed) == 0);
      BOOST_TEST(other.get() == 0);
      s.wait_all();
    }
  }
}

// Three memories that are all linked with each other. Moves could go round and round.
BOOST_AUTO_TEST_CASE(a_call_that_fits_nowhere_moves_nothing_and_ends_the_session) {
  for (const Mode mode : all_modes) {
    for (const bool is_placed : {true, false}) {
      BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode) << ", placed " << is_placed) {
        Machine machine = testing::session_machine(hundred_kib);
        machine.memories.push_back({.name = "mem2", .size_bytes = hundred_kib});
        for (const std::uint32_t m : {0U, 1U}) {
          machine.links.push_back({.name = "to" + std::to_string(m),
                                   .a = MemoryId{m},
                                   .b = MemoryId{2},
                                   .bandwidth = {1e9, 1e9}});
        }
        Session s(machine, {.mode = mode});
        std::vector<Tensor> kept;
        for (const char* device : {"cpu0", "cpu1"}) {
          const DeviceScope on = s.on(device);
          for (int i = 0; i < 5; ++i) kept.push_back(s.zeros(of_18_kib));
        }
        for (int i = 0; i < 4; ++i) kept.push_back(kept[0].to("mem2"));
        s.wait_all();
        std::optional<DeviceScope> on;
        if (is_placed) on.emplace(s.on("cpu0"));
        kept.push_back(s.zeros({4608 * 4}));
        testing::check_error([&] { s.wait_all(); }, {"is full", "72 KiB needed"});
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_device_with_room_is_taken_in_every_mode) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode)) {
      Machine machine = testing::session_machine(hundred_kib);
      machine.memories[1].size_bytes = 1 << 30;
      machine.links.clear();  // nothing can move
      Session s(machine, {.mode = mode});
      std::vector<Tensor> kept;
      {
        const DeviceScope on = s.on("cpu0");
        for (int i = 0; i < 5; ++i) kept.push_back(s.zeros(of_18_kib));
      }
      s.wait_all();
      kept.push_back(s.zeros(of_18_kib));
      s.wait_all();
    }
  }
}

// cpu1 would be much faster.
BOOST_AUTO_TEST_CASE(room_is_made_where_the_inputs_of_a_call_can_be) {
  Machine machine = testing::session_machine(hundred_kib);
  machine.memories.push_back({.name = "disk", .kind = MemoryKind::storage, .size_bytes = 1 << 30});
  machine.devices[0].flops = 1e7;
  machine.devices[0].bandwidth = 1e8;
  machine.devices[1].flops = 1e12;
  machine.devices[1].bandwidth = 1e12;
  machine.links[0].b = MemoryId{2};
  Session s(machine);
  std::vector<Tensor> kept;
  {
    const DeviceScope on = s.on("cpu0");
    for (int i = 0; i < 5; ++i) kept.push_back(s.uniform(of_18_kib, i));
  }
  s.wait_all();
  const Tensor sum = kept[4] + kept[4];
  BOOST_TEST(sum.read<float>()[7] == 2 * kept[4].read<float>()[7]);
}

// The first one is read where it is.
BOOST_AUTO_TEST_CASE(tensors_that_fit_one_after_the_other_are_saved_together) {
  Machine machine = testing::session_machine(hundred_kib);
  machine.memories[1] = {.name = "disk", .kind = MemoryKind::storage, .size_bytes = 1 << 30};
  machine.devices.pop_back();
  const testing::TemporaryDirectory folder;
  Session s(machine, {.ops = testing::session_ops()});
  const Tensor a = s.zeros({15'000});
  a.wait();
  Tensor b;
  {
    const Gate gate(s);
    b = s.zeros({15'000});
  }
  s.save(folder.path() / "both.safetensors", {{"a", a}, {"b", b}});
  BOOST_TEST(s.load(folder.path() / "both.safetensors", "b").read<float>().size() == 15'000U);
}

BOOST_AUTO_TEST_CASE(a_memory_that_is_full_is_named_with_what_it_has_and_the_line_that_needs_more) {
  Session s(without_links(64 << 10));
  const DeviceScope on = s.on("cpu1");
  std::vector<Tensor> kept;
  int line = 0;
  check_error(
      [&] {
        for (int i = 0; i < 5; ++i) {
          line = __LINE__ + 1;
          kept.push_back(s.zeros({4'000}));
          kept.back().wait();
        }
      },
      {"memory 'mem1' is full", "zeros[", "64 KiB", "drop handles"});
  BOOST_TEST(kept.size() == 5U);
  check_error([&] { s.wait_all(); }, {"mem1"}, this_file, line);
}

BOOST_AUTO_TEST_CASE(a_memory_that_is_full_of_given_tensors_is_named_too) {
  Session s(without_links(64 << 10));
  const std::vector<double> values(4'000);
  std::vector<Tensor> kept;
  int line = 0;
  check_error(
      [&] {
        for (int i = 0; i < 3; ++i) {
          line = __LINE__ + 1;
          kept.push_back(s.tensor(values, {4'000}));
          kept.back().wait();
        }
      },
      {"memory 'mem0' is full", "float64 [4000]", "drop handles"});
  check_error([&] { s.wait_all(); }, {"mem0"}, this_file, line);
}

// Units of one epoch are measured, so tensors that were read again have copies in both memories.
BOOST_AUTO_TEST_CASE(what_fits_only_without_the_clock_says_so_where_it_runs) {
  const auto work = [](Session& s) {
    const DeviceScope on = s.on("cpu1");
    std::vector<Tensor> made;
    for (int i = 0; i < 10; ++i) made.push_back(s.uniform(of_18_kib, i));
    Tensor total = made[0];
    for (int round = 0; round < 3; ++round) {
      for (const Tensor& tensor : made) total = total + tensor;
    }
    total.wait();
  };
  for (const Mode mode : {Mode::run, Mode::simulate}) {
    Session s(with_small_memory(), {.mode = mode});
    work(s);
    check_error([&] { s.measure("all of it", [&] { work(s); }); },
                {"memory 'mem1' is full", "drop handles", "while the clock runs"});
  }
}

BOOST_AUTO_TEST_CASE(given_tensors_without_a_handle_make_room_for_the_first_op) {
  Session s(testing::session_machine(64 << 10), {.mode = Mode::rehearse});
  const DeviceScope on = s.on("cpu0");
  const std::vector<double> values(4'000, 1.0);
  for (int i = 0; i < 2; ++i) s.tensor(values, {4'000});
  BOOST_TEST(s.zeros({4'000}).read<float>() == std::vector<float>(4'000, 0.0F));
}

BOOST_AUTO_TEST_CASE(given_tensors_wait_until_a_memory_has_room) {
  Session s(testing::session_machine(64 << 10));
  const std::vector<double> values(4'000, 1.0);
  for (int i = 0; i < 50; ++i) {
    const Tensor x = s.tensor(values, {4'000});
    BOOST_TEST(x.read<double>()[3'999] == 1.0);
  }
  const DeviceScope on = s.on("cpu0");
  Tensor sum = s.zeros({4'000}, DType::f32);
  for (int i = 0; i < 50; ++i) sum = sum + s.tensor(std::vector<float>(4'000, 1), {4'000});
  BOOST_TEST(sum.read<float>()[0] == 50);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
