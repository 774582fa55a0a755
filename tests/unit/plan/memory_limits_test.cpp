#include "core/plan/planner.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using testing::expect_error;
using testing::on;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::to;

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

void plan(const SmallGraph& g, const Machine& machine, const PlanOptions& options = {}) {
  make_plan(g.graph, machine, g.everything(), options);
}

BOOST_AUTO_TEST_SUITE(memory_limits)

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
  expect_error(ErrorKind::usage,
               "'y' on gpu0 needs 8 KiB in vram0, and 7 KiB of its 15 KiB are available there "
               "(earlier results that are still needed hold the rest)",
               [&] { plan(g, small_gpu(15)); });
}

// x ── y ── z
//  └────────┘
BOOST_AUTO_TEST_CASE(what_is_read_later_stays) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
  const OpId y = g.work("y", 1, {x}, on(gpu0), 8 * kib);
  g.work("z", 1, {y, x, x}, on(gpu0), 8 * kib);
  plan(g, small_gpu(24));
  expect_error(ErrorKind::usage, "'z' on gpu0 needs 8 KiB", [&] { plan(g, small_gpu(23)); });
}

// x ── x' (in the host): x goes once it is copied, the copy stays
BOOST_AUTO_TEST_CASE(what_was_copied_away_makes_room) {
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

// Keeping results for the comparison must not make a plan fail that fits without it.
BOOST_AUTO_TEST_CASE(results_are_not_kept_where_that_would_not_fit) {
  SmallGraph g;
  OpId last = g.work("x", 1, {}, on(gpu0), 8 * kib);
  for (int i = 0; i < 20; ++i) last = g.work("x", 1, {last}, on(gpu0), 8 * kib);
  plan(g, small_gpu(16), {.keep_all_results = true});
}

BOOST_AUTO_TEST_CASE(storage_of_unknown_size_is_not_checked) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 8 * kib);
  g.copy("copy", x, to(MemoryId{1}));
  Machine machine = small_gpu(8);
  machine.memories[1].kind = MemoryKind::storage;
  machine.memories[1].size_bytes = 0;
  plan(g, machine);
  plan(g, machine, {.keep_all_results = true});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
