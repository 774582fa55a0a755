#include "core/plan/memory_order.hpp"
#include "core/plan/planner.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/plan_view.hpp"
#include "tests/support/share_view.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <limits>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(memory_limits)
namespace {

using testing::before_room;
using testing::expect_error;
using testing::on;
using testing::plan_by_rates;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::successors;
using testing::to;
using testing::waits_for;

constexpr std::int64_t kib = 1024;

// gpu0 with `vram` KiB, and a host with 1 GiB and no device.
Machine small_gpu(std::uint64_t vram) {
  SmallMachine m;
  const MemoryId memory = m.memory("vram0", vram * kib);
  m.device("gpu0", memory);
  m.link("pcie0", memory, m.memory("host"));
  return m.machine;
}

constexpr DeviceId gpu0{0};

// So many tensors of 8 TiB are 2^64 bytes.
constexpr std::size_t too_many = 1 << 21;
constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

// That many independent ops on gpu0, in one group.
SmallGraph too_large() {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), std::int64_t{8} << 40);
  const OpTemplateId more = g.graph.op_class(x).op_template;
  for (std::size_t i = 1; i < too_many; ++i) g.graph.append(more, {});
  return g;
}

void plan(const SmallGraph& g, const Machine& machine, const PlanOptions& options = {}) {
  plan_by_rates(g.graph, machine, g.everything(), options);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_does_not_fit_is_refused_with_needed_and_available) {
  SmallGraph g;
  g.work("x", 1, {}, on(gpu0), 20 * kib);
  plan(g, small_gpu(20));
  expect_error(ErrorKind::usage,
               "'x' on gpu0 needs 20 KiB in vram0, and 19 KiB of its 19 KiB are available there",
               [&] { plan(g, small_gpu(19)); });
}

// x ── y ── z, 8 KiB each: two at a time
BOOST_AUTO_TEST_CASE(a_tensor_is_freed_after_its_last_reader) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
  const OpId y = g.work("y", 1, {x}, on(gpu0), 8 * kib);
  g.work("z", 1, {y}, on(gpu0), 8 * kib);
  plan(g, small_gpu(16));
  expect_error(
      ErrorKind::usage,
      "'y' on gpu0 needs 8 KiB in vram0, and 7 KiB of its 15 KiB are available there "
      "(earlier results that are still needed hold the rest); use smaller tensors or fewer "
      "at once, write the ops that free room before those that need it, or give",
      [&] { plan(g, small_gpu(15)); });
}

// x ── y ── z
//  └────────┘
BOOST_AUTO_TEST_CASE(a_tensor_that_is_read_later_stays) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
  const OpId y = g.work("y", 1, {x}, on(gpu0), 8 * kib);
  g.work("z", 1, {y, x, x}, on(gpu0), 8 * kib);
  plan(g, small_gpu(24));
  expect_error(ErrorKind::usage, "'z' on gpu0 needs 8 KiB", [&] { plan(g, small_gpu(23)); });
}

// x ── x' (in the host): x is freed once it is copied, the copy is kept
BOOST_AUTO_TEST_CASE(a_tensor_that_was_copied_away_makes_room) {
  SmallGraph g;
  for (int i = 0; i < 5; ++i) {
    const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
    g.copy("copy", x, to(MemoryId{1}));
  }
  plan(g, small_gpu(8));
  expect_error(ErrorKind::usage, "'x' on gpu0 needs 8 KiB", [&] { plan(g, small_gpu(7)); });
}

BOOST_AUTO_TEST_CASE(a_transfer_that_does_not_fit_is_refused_by_its_link) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
  g.copy("copy", x, to(MemoryId{1}));
  Machine machine = small_gpu(8);
  machine.memories[1].size_bytes = kib;
  expect_error(ErrorKind::usage,
               "'copy' on pcie0 needs 8 KiB in host, and 1 KiB of its 1 KiB are available there",
               [&] { plan(g, machine); });
}

// gpu0 ── x (8 KiB, read by z too) ── y (4 bytes over a page) ── z; a copy of y on the host
BOOST_AUTO_TEST_CASE(the_host_must_have_room_for_all_tensors_held_at_once_in_whole_pages) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
  const OpId y = g.work("y", 1, {x}, on(gpu0), 4 * kib + 8);
  const OpId z = g.work("z", 1, {x, y}, on(gpu0), 8 * kib);
  g.copy("copy", z, to(MemoryId{1}));
  // While z is computed x, y and z are held, each of 8 KiB. The copy is made after x and y are
  // freed.
  plan(g, small_gpu(64), {.ram_bytes = 24 * kib});
  expect_error(ErrorKind::usage,
               "scenario 'everything' needs 24 KiB of this host's memory at once, and 23 KiB are "
               "available",
               [&] { plan(g, small_gpu(64), {.ram_bytes = 23 * kib}); });
}

BOOST_AUTO_TEST_CASE(storage_takes_none_of_the_hosts_memory_but_in_a_rehearsal) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
  g.copy("copy", x, to(MemoryId{1}));
  Machine machine = small_gpu(64);
  machine.memories[1].kind = MemoryKind::storage;
  plan(g, machine, {.ram_bytes = 8 * kib});
  plan(g, machine, {.ram_bytes = 16 * kib, .has_storage_in_ram = true});
  expect_error(ErrorKind::usage, "needs 16 KiB of this host's memory at once",
               [&] { plan(g, machine, {.ram_bytes = 15 * kib, .has_storage_in_ram = true}); });
}

// Results that are kept until the end of the run count towards the host's memory.
BOOST_AUTO_TEST_CASE(results_are_not_kept_if_the_host_has_no_room_for_them) {
  SmallGraph g;
  OpId last = g.work("x", 1, {}, on(gpu0), 8 * kib);
  for (int i = 0; i < 20; ++i) last = g.work("x", 1, {last}, on(gpu0), 8 * kib);
  plan(g, small_gpu(1 << 20), {.compare_results = true, .ram_bytes = 16 * kib});
}

// Keeping results for the comparison must not make a plan fail that fits without it.
BOOST_AUTO_TEST_CASE(results_are_not_kept_if_they_would_not_fit) {
  SmallGraph g;
  OpId last = g.work("x", 1, {}, on(gpu0), 8 * kib);
  for (int i = 0; i < 20; ++i) last = g.work("x", 1, {last}, on(gpu0), 8 * kib);
  plan(g, small_gpu(16), {.compare_results = true});
}

// x0 ── copy0    x1 ── copy1    x2 ── copy2    x3 ── copy3, room for two at a time: x2 takes x0's
// place, and x3 that of x1
BOOST_AUTO_TEST_CASE(an_op_waits_for_the_readers_of_the_tensor_whose_room_it_takes) {
  SmallGraph g;
  for (int i = 0; i < 4; ++i) {
    const OpId x = g.work("x" + std::to_string(i), 1, {}, on(gpu0), 8 * kib);
    g.copy("copy" + std::to_string(i), x, to(MemoryId{1}));
  }
  const Machine machine = small_gpu(16);
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
  const Share& gpu = plan.windows[0].shares[0].second;
  const Share& pcie = plan.windows[0].shares[1].second;
  BOOST_TEST(waits_for(gpu) == (std::vector<std::uint32_t>{0, 0, 1, 1}),
             boost::test_tools::per_element());
  BOOST_TEST((successors(ResourceId{1}, pcie) ==
              std::vector{ItemRef{ResourceId{0}, 2}, ItemRef{ResourceId{0}, 3}}));
  // The edge is not a data dependency: another schedule may not need it.
  BOOST_TEST(testing::PlanView(g.graph, machine, plan).predecessors("x2 on gpu0").empty());
}

// x0 ── x1 ── x2 ── x3, room for two at a time: x2 takes the place of x0, which x1 reads, and x3
// that of x1
BOOST_AUTO_TEST_CASE(only_an_op_that_takes_the_room_of_others_waits_until_they_are_done) {
  SmallGraph g;
  OpId last = g.work("x0", 1, {}, on(gpu0), 8 * kib);
  for (int i = 1; i < 4; ++i) {
    last = g.work("x" + std::to_string(i), 1, {last}, on(gpu0), 8 * kib);
  }
  const Plan tight = plan_by_rates(g.graph, small_gpu(16), g.everything(), {});
  BOOST_TEST((before_room(tight.windows[0].shares[0].second) == std::vector{UnitId{1}, UnitId{2}}));
  const Plan plain = plan_by_rates(g.graph, small_gpu(32), g.everything(), {});
  BOOST_TEST(before_room(plain.windows[0].shares[0].second).empty());
}

// x on gpu0 ── a, b on gpu1, where b takes the room of y, which z reads
//              y ── z
BOOST_AUTO_TEST_CASE(ops_with_one_notice_wait_together_if_one_of_them_waits_for_room) {
  SmallMachine m;
  const MemoryId memory = m.memory("shared", 24 * kib);
  const DeviceId dev0 = m.device("dev0", memory);
  const DeviceId dev1 = m.device("dev1", memory);
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(dev0), 8 * kib);
  const OpId y = g.work("y", 1, {}, on(dev1), 8 * kib);
  g.work("z", 1, {y}, on(dev1), 4 * kib);
  g.work("a", 1, {x}, on(dev1), 4 * kib);
  g.work("b", 1, {x}, on(dev1), 8 * kib);
  const Plan plan = plan_by_rates(g.graph, m.machine, g.everything(), {});
  const Share& first = plan.windows[0].shares[0].second;
  BOOST_TEST_REQUIRE(first.successors_of(0).size() == 1U);
  BOOST_TEST(first.successors_of(0)[0].waits_for_room());
}

// x 4 KiB ── y 8 KiB ── z 16 KiB: two at a time take 24 KiB, but the store keeps buffers of all
// sizes.
BOOST_AUTO_TEST_CASE(a_plan_needs_one_buffer_of_each_size_though_they_are_never_held_at_once) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 4 * kib);
  const OpId y = g.work("y", 1, {x}, on(gpu0), 8 * kib);
  g.work("z", 1, {y}, on(gpu0), 16 * kib);
  plan(g, small_gpu(64), {.ram_bytes = 28 * kib});
  expect_error(ErrorKind::usage, "needs 28 KiB of this host's memory at once",
               [&] { plan(g, small_gpu(64), {.ram_bytes = 27 * kib}); });
}

// x ── copy | y: room for one at a time
BOOST_AUTO_TEST_CASE(an_op_does_not_wait_for_readers_of_a_window_that_is_over_when_it_starts) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
  g.copy("copy", x, to(MemoryId{1}));
  g.work("y", 1, {}, on(gpu0), 8 * kib);
  const Plan plan =
      plan_by_rates(g.graph, small_gpu(8), g.scenario({"x", "copy", "wait", "y"}), {});
  BOOST_TEST_REQUIRE(plan.windows.size() == 2U);
  BOOST_TEST_REQUIRE(plan.windows[1].shares.size() == 1U);
  BOOST_TEST((waits_for(plan.windows[1].shares[0].second) == std::vector<std::uint32_t>{0}));
}

// If any memory on a route lacks room, the first link waits: later links count notices as chunks.
//   gpu0 ── host (room for one) ── gpu1
BOOST_AUTO_TEST_CASE(a_route_waits_at_its_first_link_for_room_further_on) {
  SmallMachine m;
  const MemoryId vram0 = m.memory("vram0");
  const MemoryId host = m.memory("host", 8 * kib);
  const MemoryId vram1 = m.memory("vram1");
  m.device("gpu0", vram0);
  m.device("gpu1", vram1);
  m.link("pcie0", vram0, host, {}, Sharing::fifo, 1024);
  m.link("pcie1", host, vram1, {}, Sharing::fifo, 1024);
  SmallGraph g;
  for (int i = 0; i < 2; ++i) {
    const OpId x = g.work("x" + std::to_string(i), 1, {}, on(gpu0), 8 * kib);
    g.work("y" + std::to_string(i), 1, {x}, on(DeviceId{1}));
  }
  const Plan plan = plan_by_rates(g.graph, m.machine, g.everything(), {});
  using Counts = std::vector<std::uint32_t>;
  for (const auto& [resource, share] : plan.windows[0].shares) {
    // The transfer of x1 waits for x1, and for the transfer of x0 out of the host.
    if (resource == ResourceId{2}) BOOST_TEST((waits_for(share) == Counts{1, 2}));
    if (resource == ResourceId{3}) BOOST_TEST((waits_for(share) == Counts{1, 1}));
  }
}

BOOST_AUTO_TEST_CASE(tensors_of_more_than_2_to_the_64_bytes_fit_no_memory) {
  const SmallGraph g = too_large();
  Plan plan;
  for (std::size_t i = 0; i < too_many; ++i) {
    plan.replicas.push_back({.memory = MemoryId{i % 4 == 0 ? 1U : 0U}, .type = 0});
  }
  for (std::size_t i = 0; i < too_many / 2; ++i) {
    plan.replicas.push_back({.memory = MemoryId{0}, .type = 0});
  }
  const Machine machine = small_gpu(1);
  const auto bytes = bytes_in_all(g.graph, machine, plan);
  BOOST_TEST(bytes == (std::vector{largest, std::uint64_t{1} << 62}),
             boost::test_tools::per_element());
  BOOST_TEST(is_any_tight(g.graph, machine, plan));
  expect_error(ErrorKind::usage, "'x' on gpu0 needs 8 TiB in vram0, and 1 KiB of its 1 KiB",
               [&] { plan_by_rates(g.graph, machine, g.everything(), {}); });
}

BOOST_AUTO_TEST_CASE(storage_of_unknown_size_is_not_checked) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
  g.copy("copy", x, to(MemoryId{1}));
  Machine machine = small_gpu(8);
  machine.memories[1].kind = MemoryKind::storage;
  machine.memories[1].size_bytes = 0;
  plan(g, machine);
  plan(g, machine, {.compare_results = true});
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
