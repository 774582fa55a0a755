#include "core/plan/policies/contended_schedule.hpp"

#include "core/cost/roofline.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(contended_schedule)
namespace {

using testing::on;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::to;

struct Options {
  std::vector<std::size_t> waits = {};
  std::function<MemoryId(OpId)> home = [](OpId) { return MemoryId::none(); };
  std::vector<Duration> busy = {};
  std::size_t first = 0;  // op
  std::size_t size_max = 1000;
};

// In nanoseconds, where all ops are placed.
std::int64_t makespan(const Graph& graph, const Machine& machine, const Options& options = {}) {
  const Roofline cost(machine);
  Router router(machine);
  Reachability anywhere(machine);
  std::vector<OpId> ops;
  std::vector<DeviceId> devices;
  for (std::size_t i = options.first; i < graph.size(); ++i) {
    ops.push_back(OpId::at(i));
    devices.push_back(graph.placement(ops.back()).device);
  }
  const PlacementRequest request{
      .graph = graph,
      .machine = machine,
      .cost = cost,
      .router = router,
      .ops = ops,
      .waits = options.waits,
      .placement = [&](OpId op) -> const Placement& { return graph.placement(op); },
      .home = options.home,
      .can_run = [](DeviceId, OpId) { return true; },
      .reachability = anywhere,
      .busy = options.busy};
  return ContendedSchedule(request, options.size_max).makespan(devices).count();
}

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};
constexpr MemoryId a{0};
constexpr MemoryId b{1};

// Devices with a memory each, which links join to a hub: dev0, dev1, dev2.
Machine star() {
  SmallMachine m;
  const MemoryId hub = m.memory("hub");
  for (int i = 0; i < 3; ++i) {
    const MemoryId own = m.memory("own");
    m.device("dev", own);
    m.link("link", own, hub);
  }
  return m.machine;
}

// x y z on dev0: 10 each     readers of 5 each on dev1, dev2, dev1
//
// Tensors of 96 bytes. On the link from dev0: x 10-106, y 106-202, z 202-298. On those to the
// readers 96 more. The last one begins at 394.
BOOST_AUTO_TEST_CASE(tensors_wait_for_each_other_on_a_link_of_a_star) {
  SmallGraph g;
  std::vector<OpId> made;
  for (const char* name : {"x", "y", "z"}) made.push_back(g.work(name, 10, {}, on(dev0), 96));
  g.work("rx", 5, {made[0]}, on(dev1));
  g.work("ry", 5, {made[1]}, on(DeviceId{2}));
  g.work("rz", 5, {made[2]}, on(dev1));
  BOOST_TEST(makespan(g.graph, star()) == 399);
}

// x 10 on dev0, of 96 bytes: on the hub at 106, on dev1 and dev2 at 202, from the hub.
BOOST_AUTO_TEST_CASE(a_tensor_goes_over_a_link_once_for_all_readers_behind_it) {
  SmallGraph g;
  const OpId x = g.work("x", 10, {}, on(dev0), 96);
  g.work("r", 5, {x}, on(dev1));
  g.work("s", 7, {x}, on(DeviceId{2}));
  g.work("t", 1, {x}, on(dev1));
  BOOST_TEST(makespan(g.graph, star()) == 209);
}

// x and y go opposite ways over one link: at the same time.
BOOST_AUTO_TEST_CASE(the_directions_of_a_link_do_not_wait_for_each_other) {
  SmallGraph g;
  const OpId x = g.work("x", 10, {}, on(dev0), 96);
  const OpId y = g.work("y", 10, {}, on(dev1), 96);
  g.work("r", 5, {x}, on(dev1));
  g.work("s", 5, {y}, on(dev0));
  BOOST_TEST(makespan(g.graph, testing::two_devices()) == 111);
}

// near ──first── between ──second, latency 50── far
//
// A tensor of 1000 bytes is cut into ten chunks of 100 ns. x is made at 10. Its first chunk is on
// `between` at 110; second moves x from 110 to 1160. y follows: on first from 1010 to 2010, its
// first chunk is on `between` at 1110, and second is free at 1160: it moves y until 2210.
BOOST_AUTO_TEST_CASE(chunks_follow_each_other_and_other_tensors_over_the_links_of_a_route) {
  SmallMachine m;
  const MemoryId near = m.memory("near");
  const MemoryId between = m.memory("between");
  const MemoryId far = m.memory("far");
  m.device("dev0", near);
  m.device("dev1", far);
  m.link("first", near, between, {}, Sharing::fifo, 100);
  m.link("second", between, far, std::chrono::nanoseconds(50), Sharing::fifo, 200);
  SmallGraph g;
  const OpId x = g.work("x", 10, {}, on(dev0), 1000);
  g.work("r", 1, {x}, on(dev1));
  BOOST_TEST(makespan(g.graph, m.machine) == 1161);
  const OpId y = g.work("y", 0, {}, on(dev0), 1000);
  g.work("s", 1, {y}, on(dev1));
  BOOST_TEST(makespan(g.graph, m.machine) == 2211);
}

// x on dev0 (100 ns, 40 bytes)   perhaps a wait   r on dev1 reads x, s of 200 on dev1 doesn't
//
// With the wait behind s, x moves after it.
BOOST_AUTO_TEST_CASE(behind_a_wait_ops_and_transfers_start_when_all_before_has_ended) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0), 40);
  g.work("s", 200, {}, on(dev1));
  g.work("r", 10, {x}, on(dev1));
  BOOST_TEST(makespan(g.graph, testing::two_devices()) == 210);
  BOOST_TEST(makespan(g.graph, testing::two_devices(), {.waits = {2}}) == 250);
}

// Five ops of 100 on three streams.
BOOST_AUTO_TEST_CASE(the_streams_of_a_device_work_at_the_same_time) {
  SmallGraph g;
  for (int i = 0; i < 5; ++i) g.work("op", 100, {}, on(dev0));
  BOOST_TEST(makespan(g.graph, testing::two_devices({.streams = 3})) == 200);
  BOOST_TEST(makespan(g.graph, testing::two_devices()) == 500);
}

// s 100 and x 100 on dev0, r 300 on dev1 reads x: x is done first.
BOOST_AUTO_TEST_CASE(of_the_ops_that_are_ready_that_with_the_longest_way_to_go_is_first) {
  SmallGraph g;
  g.work("s", 100, {}, on(dev0));
  const OpId x = g.work("x", 100, {}, on(dev0), 8);
  g.work("r", 300, {x}, on(dev1));
  BOOST_TEST(makespan(g.graph, testing::two_devices()) == 408);
}

// x 10 ── copy to b ── r on dev1, and s on dev1, which reads x: 104 bytes go there twice.
BOOST_AUTO_TEST_CASE(a_copy_that_was_asked_for_is_a_tensor_of_its_own) {
  SmallGraph g;
  const OpId x = g.work("x", 10, {}, on(dev0), 104);
  const OpId copy = g.copy("copy", x, to(b));
  g.work("r", 1, {copy}, on(dev1));
  BOOST_TEST(makespan(g.graph, testing::two_devices()) == 115);
  g.work("s", 1, {x}, on(dev1));
  BOOST_TEST(makespan(g.graph, testing::two_devices()) == 219);
}

// x is in a's memory, or prepared where it is needed.
BOOST_AUTO_TEST_CASE(inputs_of_earlier_windows_come_from_where_they_live) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, {}, 80);
  g.work("r", 10, {x}, on(dev1));
  const Machine machine = testing::two_devices();
  BOOST_TEST(makespan(g.graph, machine, {.home = [](OpId) { return a; }, .first = 1}) == 90);
  BOOST_TEST(makespan(g.graph, machine, {.home = [](OpId) { return b; }, .first = 1}) == 10);
  BOOST_TEST(makespan(g.graph, machine, {.first = 1}) == 10);
}

BOOST_AUTO_TEST_CASE(a_device_at_work_on_earlier_windows_starts_later) {
  SmallGraph g;
  g.work("x", 10, {}, on(dev0));
  g.work("y", 10, {}, on(dev1));
  const Options busy = {.busy = {Duration{300}, Duration{0}}};
  BOOST_TEST(makespan(g.graph, testing::two_devices(), busy) == 310);
  // Behind a wait that is over before.
  SmallGraph h;
  h.work("y", 10, {}, on(dev1));
  h.work("x", 10, {}, on(dev0));
  BOOST_TEST(makespan(h.graph, testing::two_devices(), {.waits = {1}, .busy = busy.busy}) == 310);
}

BOOST_AUTO_TEST_CASE(all_outputs_of_an_op_are_there_when_it_ends) {
  SmallGraph g;
  const OpId x = g.work("x", 10, {}, on(dev0), 80);
  const OpId half = g.op("half", "half", {x}, on(dev0));
  g.work("r", 1, {OpId{half.value + 1}, OpId{half.value + 2}}, on(dev1));
  // Without the further outputs, which are no ops of a request.
  const std::int64_t alone = [] {
    SmallGraph h;
    const OpId y = h.work("x", 10, {}, on(dev0), 80);
    h.op("half", "half", {y}, on(dev0));
    return makespan(h.graph, testing::two_devices());
  }();
  BOOST_TEST(makespan(g.graph, testing::two_devices()) == alone + 8 + 80 + 1);
}

// Ops and inputs: 1, 3, 5, 7.
BOOST_AUTO_TEST_CASE(only_the_first_ops_are_looked_at) {
  SmallGraph g;
  OpId last = g.work("x", 10, {}, on(dev0));
  for (int i = 0; i < 3; ++i) last = g.work("y", 10, {last}, on(dev0));
  const Machine machine = testing::two_devices();
  BOOST_TEST(makespan(g.graph, machine, {.size_max = 7}) == 40);
  BOOST_TEST(makespan(g.graph, machine, {.size_max = 6}) == 30);
  BOOST_TEST(makespan(g.graph, machine, {.waits = {2, 3}, .size_max = 4}) == 20);
  BOOST_TEST(makespan(g.graph, machine, {.size_max = 0}) == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
