// Plans that would be refused if ops were placed by time only.
#include "core/plan/memory_order.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(room_search)
namespace {

using testing::expect_error;
using testing::on;
using testing::plan_by_rates;
using testing::SmallGraph;
using testing::SmallMachine;

constexpr std::int64_t kib = 1024;
constexpr DeviceId fast{0};

// Ops take a thousandth of the time on `fast`, which has a memory of 16 KiB, and `slow` has
// `kib_b`.
Machine fast_and_slow(std::uint64_t kib_b = 1 << 20) {
  SmallMachine m;
  const MemoryId a = m.memory("a", 16 * kib);
  const MemoryId b = m.memory("b", kib_b * kib);
  m.device("fast", a, 1, 1e12);
  m.device("slow", b);
  m.link("link", a, b);
  return m.machine;
}

// The devices of the ops in their order: "fast slow fast".
std::string devices_of(const SmallGraph& g, const Machine& machine) {
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
  std::string devices;
  for (const Unit& unit : plan.units) {
    if (unit.transfer) continue;
    devices += (devices.empty() ? "" : " ") + machine.devices[unit.ref.resource.index()].name;
  }
  return devices;
}

BOOST_AUTO_TEST_CASE(results_that_are_kept_go_to_another_memory_when_one_is_full) {
  SmallGraph g;
  for (const char* name : {"x", "y", "z"}) g.work(name, 1'000'000, {}, {}, 8 * kib);
  BOOST_TEST(devices_of(g, fast_and_slow()) == "fast fast slow");
}

BOOST_AUTO_TEST_CASE(what_is_freed_makes_room_for_what_comes_later) {
  SmallGraph g;
  const OpId x = g.work("x", 1'000'000, {}, {}, 8 * kib);
  g.work("y", 1'000'000, {}, {}, 8 * kib);
  g.work("z", 1'000'000, {}, {}, 8 * kib);
  g.work("last of x", 1'000'000, {x}, {}, 8);
  g.work("w", 1'000'000, {}, {}, 7 * kib);
  BOOST_TEST(devices_of(g, fast_and_slow()) == "fast fast slow slow fast");
}

// Of x, 8 KiB, there would be no room for a copy beside y.
BOOST_AUTO_TEST_CASE(an_op_needs_room_for_what_it_reads_as_well) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(DeviceId{1}), 8 * kib);
  g.work("y", 1'000'000, {}, {}, 12 * kib);
  g.work("z", 1'000'000, {x}, {}, 2 * kib);
  BOOST_TEST(devices_of(g, fast_and_slow()) == "slow fast slow");
}

BOOST_AUTO_TEST_CASE(all_outputs_of_an_op_go_with_it) {
  SmallGraph g;
  const OpId x = g.work("x", 1'000'000, {}, {}, 4 * kib);
  const OpId y = g.op("y", "half", {x});
  g.op("z", "half", {x});
  g.op("sum", "add", {OpId{y.value + 2}, x});
  BOOST_TEST(devices_of(g, fast_and_slow()) == "fast fast fast fast slow slow slow slow");
}

BOOST_AUTO_TEST_CASE(what_the_user_has_placed_stays_and_is_refused_where_it_does_not_fit) {
  SmallGraph g;
  for (const char* name : {"x", "y", "z"}) g.work(name, 1, {}, on(fast), 8 * kib);
  expect_error(ErrorKind::usage, "'z' on fast needs 8 KiB in a",
               [&] { plan_by_rates(g.graph, fast_and_slow(), g.everything(), {}); });
}

BOOST_AUTO_TEST_CASE(what_the_user_has_placed_gets_room_that_others_could_have) {
  SmallGraph g;
  for (const char* name : {"x", "y"}) g.work(name, 1'000'000, {}, {}, 8 * kib);
  g.work("z", 1, {}, on(fast), 8 * kib);
  BOOST_TEST(devices_of(g, fast_and_slow()) == "fast slow fast");
}

// Nodes tell each other of tensors, not of room: what comes from another node needs room that was
// never used.
BOOST_AUTO_TEST_CASE(what_comes_from_another_node_does_not_wait_for_room) {
  Machine machine = fast_and_slow();
  machine.nodes = {"n0", "n1"};
  for (std::size_t i = 0; i < 2; ++i) {
    machine.devices[i].node = machine.memories[i].node = NodeId::at(i);
  }
  SmallGraph g;
  const OpId a = g.work("a", 1'000'000, {}, {}, 8 * kib);
  const OpId b = g.work("b", 1'000'000, {a}, {}, 8 * kib);
  const OpId c = g.work("c", 1'000'000, {b}, {}, 8 * kib);
  const OpId d = g.work("d", 1'000'000, {}, {}, 8 * kib);
  const OpId e = g.work("e", 1'000'000, {c, d}, {}, 8 * kib);
  g.work("f", 1'000'000, {e}, {}, 8 * kib);
  BOOST_CHECK_NO_THROW(
      plan_by_rates(g.graph, machine, g.everything(), {.waits_across_nodes = false}));
}

BOOST_AUTO_TEST_CASE(what_fits_nowhere_is_refused) {
  SmallGraph g;
  for (const char* name : {"x", "y", "z"}) g.work(name, 1'000'000, {}, {}, 8 * kib);
  expect_error(ErrorKind::usage, "'z' on fast needs 8 KiB in a",
               [&] { plan_by_rates(g.graph, fast_and_slow(7), g.everything(), {}); });
}

// A policy puts them all on the first node, which is the fastest.
BOOST_AUTO_TEST_CASE(devices_that_are_alike_share_what_finds_no_room) {
  SmallMachine m;
  const MemoryId middle = m.memory("middle");
  constexpr std::size_t nodes = 8;
  for (std::size_t n = 0; n < nodes; ++n) {
    const MemoryId memory = m.memory("m" + std::to_string(n), 32 * kib);
    m.device("d" + std::to_string(n), memory, 1, n == 0 ? 1e15 : 1e9);
    m.link("l" + std::to_string(n), memory, middle);
  }
  SmallGraph g;
  for (std::size_t i = 0; i < 4 + 2 * (nodes - 1); ++i) {
    g.work("x" + std::to_string(i), 1'000'000, {}, {}, 8 * kib);
  }
  const Plan plan = plan_by_rates(g.graph, m.machine, g.everything(), {});
  for (std::size_t n = 0; n < nodes; ++n) {
    BOOST_TEST(bytes_in_all(g.graph, m.machine, plan)[1 + n] == (n == 0 ? 32U : 16U) * kib);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
