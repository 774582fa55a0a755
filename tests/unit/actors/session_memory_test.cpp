// Sessions whose tensors fill a memory, or would if they were kept for too long.
#include "tests/support/address_space.hpp"
#include "tests/unit/actors/small_memory.hpp"

#include <cstdint>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(session_memory)
namespace {

const std::string this_file = "session_memory_test.cpp";

using testing::all_modes;
using testing::Gate;
using testing::hundred_kib;
using testing::KernelState;
using testing::of_18_kib;
using testing::with_small_memory;

// The same, but the way from mem0 to mem1 is by a memory of a hundred KiB.
Machine with_memory_between() {
  Machine machine = with_small_memory();
  machine.memories.push_back({.name = "between", .size_bytes = hundred_kib});
  machine.links = {{.name = "in", .a = MemoryId{0}, .b = MemoryId{2}, .bandwidth = {1e9, 1e9}},
                   {.name = "out", .a = MemoryId{2}, .b = MemoryId{1}, .bandwidth = {1e9, 1e9}}};
  return machine;
}

}  // namespace

BOOST_AUTO_TEST_CASE(copies_for_which_the_host_has_no_memory_are_an_error_and_the_session_goes_on,
                     *boost::unit_test::precondition(testing::can_limit_addresses)) {
  Session s(testing::session_machine());
  const std::vector<float> elements(64 << 20);  // 256 MiB
  const Tensor x = s.zeros({64 << 20});
  x.wait();
  {
    const testing::AddressSpaceLimit limit(32 << 20);
    const std::vector<std::string> words{"not enough memory for the tensors: 256 MiB needed"};
    int line = __LINE__ + 1;
    testing::check_error([&] { s.tensor(elements, x.shape()); }, words, this_file, line);
    line = __LINE__ + 1;
    testing::check_error([&] { x.read<float>(); }, words, this_file, line);
  }
  BOOST_TEST(s.tensor(elements, x.shape()).read<float>().size() == elements.size());
}

BOOST_AUTO_TEST_CASE(handles_for_which_the_host_has_no_memory_are_an_error,
                     *boost::unit_test::precondition(testing::can_limit_addresses)) {
  Session s(testing::session_machine(), {.mode = Mode::simulate});
  std::vector<Tensor> held;
  held.reserve(4'000'000);
  const testing::AddressSpaceLimit limit(64 << 20);
  testing::check_error(
      [&] {
        while (held.size() < held.capacity()) held.push_back(s.zeros({1}));
      },
      {"this host has not enough memory", "keep fewer tensors"});
}

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
