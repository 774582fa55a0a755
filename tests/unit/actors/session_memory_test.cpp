// Sessions whose tensors fill a memory, or would if they were kept for too long.
#include "core/base/random.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/unit/actors/session_fixture.hpp"

#include <cstdint>
#include <future>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(session_memory)
namespace {

using testing::KernelState;

// A hundred KiB are five of these, and some.
const Shape of_18_kib{4608};
constexpr std::uint64_t hundred_kib = 100 << 10;
constexpr Mode all_modes[] = {Mode::run, Mode::simulate, Mode::rehearse};

// Keeps cpu0 at work while the test makes more calls, so that they are handed out together. Nothing
// in a simulation, which hands out all before a wait.
struct Gate {
  explicit Gate(Session& s) {
    KernelState::is_gate_open = has_virtual_time(s);
    const DeviceScope on = s.on("cpu0");
    gate = s.call("gate", {});
  }
  ~Gate() { KernelState::is_gate_open = true; }

  static bool has_virtual_time(const Session& s) { return s.report().mode != "run"; }
  Tensor gate;
};

// Of session_machine(), in which mem1 has a hundred KiB.
Machine with_small_memory() {
  Machine machine = testing::session_machine();
  machine.memories[1].size_bytes = hundred_kib;
  return machine;
}

// The same, but the way from mem0 to mem1 is by a memory of a hundred KiB.
Machine with_memory_between() {
  Machine machine = with_small_memory();
  machine.memories.push_back({.name = "between", .size_bytes = hundred_kib});
  machine.links = {{.name = "in", .a = MemoryId{0}, .b = MemoryId{2}, .bandwidth = {1e9, 1e9}},
                   {.name = "out", .a = MemoryId{2}, .b = MemoryId{1}, .bandwidth = {1e9, 1e9}}};
  return machine;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ops_that_fit_one_after_the_other_may_be_called_together) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode)) {
      Session s(testing::session_machine(hundred_kib),
                {.mode = mode, .ops = testing::session_ops()});
      const DeviceScope on = s.on("cpu0");
      const std::vector<Tensor> held{s.zeros(of_18_kib), s.zeros(of_18_kib)};
      const Tensor one = s.tensor(std::vector<float>(4608, 1), of_18_kib);
      s.wait_all();
      Tensor x;
      {
        const Gate gate(s);
        x = relu(one);
        for (int i = 0; i < 8; ++i) x = x + one;
      }
      x.wait();
      if (mode != Mode::simulate) BOOST_TEST(x.read<float>()[4607] == 9);
    }
  }
}

BOOST_AUTO_TEST_CASE(copies_of_tensors_that_are_elsewhere_make_room_for_others) {
  for (const Mode mode : all_modes) {
    for (const bool waits : {true, false}) {
      BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode) << ", waits " << waits) {
        Session s(with_small_memory(), {.mode = mode});
        std::vector<Tensor> kept;
        std::vector<Tensor> sums;
        {
          const DeviceScope on = s.on("cpu0");
          for (std::uint64_t i = 0; i < 20; ++i) kept.push_back(s.uniform(of_18_kib, i));
        }
        s.wait_all();
        {
          const DeviceScope on = s.on("cpu1");
          for (const Tensor& x : kept) {
            sums.push_back(sum(x, 0));
            if (waits) s.wait_all();
          }
        }
        s.wait_all();
        if (mode == Mode::simulate) continue;
        const DeviceScope on = s.on("cpu0");
        for (std::size_t i = 0; i < kept.size(); ++i) {
          BOOST_TEST(sums[i].read<float>() == sum(kept[i], 0).read<float>());
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_small_memory_on_the_way_is_room_enough_for_tensors_one_after_the_other) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode)) {
      Machine machine = with_memory_between();
      machine.memories[1].size_bytes = 1 << 30;
      Session s(machine, {.mode = mode});
      std::vector<Tensor> kept;
      {
        const DeviceScope on = s.on("cpu0");
        for (std::uint64_t i = 0; i < 20; ++i) kept.push_back(s.uniform(of_18_kib, i));
      }
      const DeviceScope on = s.on("cpu1");
      std::vector<Tensor> moved;
      for (const Tensor& x : kept) moved.push_back(relu(x));
      s.wait_all();
      if (mode == Mode::simulate) continue;
      BOOST_TEST(moved.back().read<float>() == kept.back().read<float>());
    }
  }
}

BOOST_AUTO_TEST_CASE(what_nobody_reads_is_freed_when_its_op_is_done) {
  static std::mutex mutex;
  static std::set<const std::byte*> buffers;
  buffers.clear();
  OpRegistry ops = testing::session_ops();
  ops.add({.name = "make",
           .type =
               [](const OpSignature&) {
                 return TensorType{DType::f32, of_18_kib};
               },
           .cpu =
               [](const CpuCall& call) {
                 const std::lock_guard lock(mutex);
                 buffers.insert(call.output.data);
               }});
  Session s(testing::session_machine(), {.ops = ops});
  {
    const Gate gate(s);
    const DeviceScope on = s.on("cpu0");
    for (int i = 0; i < 200; ++i) s.call("make", {});
  }
  s.wait_all();
  BOOST_TEST(buffers.size() < 10U);
}

BOOST_AUTO_TEST_CASE(what_a_call_reads_is_not_freed_to_make_room_for_it) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode)) {
      Session s(with_memory_between(), {.mode = mode});
      std::vector<Tensor> kept;
      const auto make = [&](const char* device) {
        const DeviceScope on = s.on(device);
        kept.push_back(s.zeros(of_18_kib));
        return kept.back();
      };
      const Tensor x = make("cpu0");
      const Tensor w = make("cpu0");
      const DeviceScope on = s.on("cpu1");
      for (const Tensor& read : {x, w}) kept.push_back(sum(read, 0));
      for (int i = 0; i < 5; ++i) kept.push_back(make("cpu0").to("between"));
      for (int i = 0; i < 3; ++i) make("cpu1");
      s.wait_all();
      relu(x).wait();  // there is no way to bring x again
    }
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_may_leave_the_memory_in_which_it_was_made) {
  for (const Mode mode : {Mode::run, Mode::simulate}) {
    BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode)) {
      Machine machine = testing::session_machine();
      machine.memories.push_back(
          {.name = "disk", .kind = MemoryKind::storage, .size_bytes = hundred_kib});
      machine.links.push_back(
          {.name = "io", .a = MemoryId{1}, .b = MemoryId{2}, .bandwidth = {1e9, 1e9}});
      Session s(machine, {.mode = mode});
      const DeviceScope on = s.on("cpu1");
      std::vector<Tensor> kept;
      for (std::uint64_t i = 0; i < 10; ++i) {
        kept.push_back(s.uniform(of_18_kib, i).to("disk"));
        relu(kept.back()).wait();
      }
      if (mode == Mode::simulate) continue;
      BOOST_TEST(kept[0].read<float>() == s.uniform(of_18_kib, 0).read<float>());
      BOOST_TEST(kept[9].read<float>() == s.uniform(of_18_kib, 9).read<float>());
    }
  }
}

BOOST_AUTO_TEST_CASE(copies_make_room_for_ops_of_several_outputs) {
  OpRegistry ops = builtin_ops();
  ops.add({.name = "twice",
           .inputs = 1,
           .further_outputs = {{.name = "again"}},
           .cpu = [](const CpuCall&) {}});
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode)) {
      Session s(with_small_memory(), {.mode = mode, .ops = ops});
      std::vector<Tensor> kept;
      {
        const DeviceScope on = s.on("cpu0");
        for (int i = 0; i < 4; ++i) kept.push_back(s.zeros(of_18_kib));
      }
      const DeviceScope on = s.on("cpu1");
      for (int i = 0; i < 4; ++i) kept.push_back(sum(kept[static_cast<std::size_t>(i)], 0));
      s.wait_all();
      BOOST_TEST(s.call_all("twice", {kept[0]}).size() == 2U);
      s.wait_all();
    }
  }
}

// Placed by a policy, ops go where w is, which has room for all that they make.
BOOST_AUTO_TEST_CASE(ops_overlap_beside_a_tensor_that_fills_most_of_a_memory) {
  const auto makespan = [](std::uint64_t bytes) {
    Machine machine = testing::session_machine();
    machine.memories[1].size_bytes = bytes;
    machine.devices[0].bandwidth = 1e6;
    machine.devices[1].streams = 2;
    Session s(machine, {.mode = Mode::simulate});
    Tensor w;
    {
      const DeviceScope on = s.on("cpu0");
      w = s.zeros({15, 1024});
    }
    return s
        .measure("sums",
                 [&] {
                   for (int i = 0; i < 40; ++i) sum(w, 1);
                 })
        .makespan;
  };
  BOOST_TEST(makespan(hundred_kib).count() == makespan(1 << 30).count());
}

BOOST_AUTO_TEST_CASE(ops_overlap_beside_a_full_memory_that_they_do_not_need) {
  const auto makespan = [](std::int64_t rows) {
    Machine machine = testing::session_machine();
    machine.memories.push_back({.name = "far", .size_bytes = hundred_kib});
    machine.links.push_back(
        {.name = "way", .a = MemoryId{0}, .b = MemoryId{2}, .bandwidth = {1e9, 1e9}});
    Session s(machine, {.mode = Mode::simulate});
    const DeviceScope on = s.on("cpu0");
    const Tensor filling = s.zeros({rows, 1024}).to("far");
    const auto work = [&] {
      for (int i = 0; i < 10; ++i) s.zeros(of_18_kib);
    };
    s.wait_all();
    return std::async(std::launch::async, [&] { return s.measure("all", work).makespan; }).get();
  };
  BOOST_TEST(makespan(25).count() == makespan(1).count());
}

// Not a test of values in a simulation.
void check_sums(Session& s, const std::vector<Tensor>& kept, std::span<const Tensor> sums) {
  s.wait_all();
  if (s.report().mode == "simulate") return;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::vector<float> values = kept[i].read<float>();
    const double expected = std::accumulate(values.begin(), values.end(), 0.0);
    BOOST_TEST(sums[i].read<float>()[0] == expected, boost::test_tools::tolerance(1e-5));
    BOOST_TEST(values == Session().uniform(of_18_kib, i).read<float>());
  }
}

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
        check_sums(s, kept, sums);
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
  Machine machine = with_small_memory();
  machine.devices.erase(machine.devices.begin());
  machine.devices[0].memory = MemoryId{1};
  machine.memories[0] = {.name = "disk", .kind = MemoryKind::storage, .size_bytes = 1 << 30};
  Session s(machine);
  std::vector<Tensor> kept;
  std::vector<Tensor> sums;
  for (std::uint64_t i = 0; i < 20; ++i) kept.push_back(s.uniform(of_18_kib, i));
  for (const Tensor& x : kept) sums.push_back(sum(x, 0));
  check_sums(s, kept, sums);
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

// The copy of its input included.
BOOST_AUTO_TEST_CASE(an_op_for_which_a_memory_is_too_full_is_named_with_what_it_needs) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode)) {
      Machine machine = with_small_memory();
      machine.memories[0].size_bytes = hundred_kib;
      Session s(machine, {.mode = mode});
      Tensor x;
      std::vector<Tensor> kept;
      {
        const DeviceScope on = s.on("cpu0");
        x = s.zeros(of_18_kib);
        for (int i = 0; i < 4; ++i) kept.push_back(s.zeros(of_18_kib));
      }
      const DeviceScope on = s.on("cpu1");
      for (int i = 0; i < 5; ++i) kept.push_back(s.zeros(of_18_kib));
      const int line = __LINE__ + 1;
      kept.push_back(x + x);
      testing::check_error([&] { s.wait_all(); },
                           {"memory 'mem1' is full", "36 KiB needed for 'add[10]'"},
                           "session_memory_test.cpp", line);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
