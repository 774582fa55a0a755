#include "core/plan/policies/heft.hpp"

#include "core/cost/roofline.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(heft)
namespace {

using testing::on;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::to;

constexpr DeviceId fast{0};
constexpr DeviceId slow{1};

// fast (1 FLOP/ns) ── link (1 byte/ns) ── slow (0.5 FLOP/ns)
Machine fast_and_slow() {
  return testing::two_devices({.flops = {1e9, 5e8}});
}

struct Request {
  std::vector<OpId> ops;
  std::vector<std::size_t> waits = {};
  std::function<bool(DeviceId, OpId)> can_run = [](DeviceId, OpId) { return true; };
  std::function<MemoryId(OpId)> home = [](OpId) { return MemoryId::none(); };
  std::vector<Duration> busy = {};
  Sight sight = Sight::op;
};

std::vector<DeviceId> place(const Graph& graph, const Machine& machine, Request request = {}) {
  const Roofline cost(machine);
  Router router(machine);
  if (request.ops.empty()) {
    for (std::size_t i = 0; i < graph.size(); ++i) request.ops.push_back(OpId::at(i));
  }
  Reachability anywhere(machine);
  return heft_schedule(
             {.graph = graph,
              .machine = machine,
              .cost = cost,
              .router = router,
              .ops = request.ops,
              .waits = request.waits,
              .placement = [&](OpId op) -> const Placement& { return graph.placement(op); },
              .home = request.home,
              .can_run = request.can_run,
              .reachability = anywhere,
              .busy = request.busy},
             request.sight)
      .devices;
}

using Devices = std::vector<DeviceId>;

//     ┌─ b 400 ─┐         a tensor takes 80 ns to the other device,
// a 200         d 200     40 on average over all pairs of devices
//     └─ c 200 ─┘
//
// Mean times: a 300, b 600, c 300, d 300. Ranks: d 300, c 640, b 940, a 1280: the order is a b c d.
//   a: fast 0-200, slow 0-400                   → fast
//   b: fast 200-600, slow 280-1080              → fast
//   c: fast 600-800, slow 280-680               → slow
//   d: fast max(600, 680 + 80)-960, slow 680-1080 → fast
BOOST_AUTO_TEST_CASE(a_diamond_is_placed_as_worked_out_by_hand) {
  SmallGraph g;
  const OpId a = g.work("a", 200, {}, {}, 80);
  const OpId b = g.work("b", 400, {a}, {}, 80);
  const OpId c = g.work("c", 200, {a}, {}, 80);
  g.work("d", 200, {b, c}, {}, 80);
  BOOST_TEST((place(g.graph, fast_and_slow()) == Devices{fast, fast, slow, fast}));
}

// x is on slow, and 500 ns from fast. A chain of b 100 each follows, which take slow 200 each.
BOOST_AUTO_TEST_CASE(looking_ahead_an_op_goes_where_the_rest_ends_first) {
  for (const int chain : {2, 10}) {
    SmallGraph g;
    OpId x = g.work("x", 10, {}, on(slow), 500);
    for (int i = 0; i < chain; ++i) x = g.work("b", 100, {x}, {}, 500);
    const Devices near = place(g.graph, fast_and_slow());
    BOOST_TEST((near == Devices(1 + chain, slow)));
    Devices wanted(1 + chain, chain > 5 ? fast : slow);
    wanted[0] = slow;
    BOOST_TEST((place(g.graph, fast_and_slow(), {.ops = {}, .sight = Sight::ahead}) == wanted));
  }
}

// b goes where it ends first if nothing follows it, and where c must be if c does: behind a wait, c
// is of another window.
BOOST_AUTO_TEST_CASE(looking_ahead_ends_at_a_wait_and_knows_placed_ops) {
  SmallGraph g;
  const OpId x = g.work("x", 10, {}, on(fast), 8);
  const OpId b = g.work("b", 100, {x}, {}, 400);
  g.work("c", 100, {b}, on(slow));
  const auto with = [&](std::vector<std::size_t> waits) {
    return place(g.graph, fast_and_slow(),
                 {.ops = {}, .waits = std::move(waits), .sight = Sight::ahead});
  };
  BOOST_TEST((with({}) == Devices{fast, slow, slow}));
  BOOST_TEST((with({2}) == Devices{fast, fast, slow}));
}

// Ops of which nothing is read, and ops that a copy follows: that is on any device.
BOOST_AUTO_TEST_CASE(looking_ahead_changes_nothing_where_what_follows_is_the_same_everywhere) {
  for (const bool are_copied : {false, true}) {
    SmallGraph g;
    for (int i = 0; i < 20; ++i) {
      const OpId x = g.work("x", 10.0 * (i % 7), {}, {}, 80);
      if (are_copied) g.copy("copy", x, to(MemoryId{1}));
    }
    BOOST_TEST((place(g.graph, fast_and_slow()) ==
                place(g.graph, fast_and_slow(), {.ops = {}, .sight = Sight::ahead})));
  }
}

// x 500 ends on slow at 1000, before what it reads is on fast. What reads its further output takes
// 20 us there, and twice as long on slow.
BOOST_AUTO_TEST_CASE(looking_ahead_sees_the_readers_of_further_outputs) {
  SmallGraph g;
  const OpId given = g.op("given", "work", {}, on(slow), {{"flops", 0.0}}, testing::of_bytes(4000));
  const OpId x = g.op("x", "half", {given});
  const OpId y = g.work("y", 20'000, {OpId{x.value + 2}});
  const auto place_x = [&](Sight sight) {
    return place(g.graph, fast_and_slow(), {.ops = {given, x, y}, .sight = sight})[1];
  };
  BOOST_TEST((place_x(Sight::op) == slow));
  BOOST_TEST((place_x(Sight::ahead) == fast));
}

// Free, fast would do all three by 300, and slow the first by 200.
BOOST_AUTO_TEST_CASE(ops_go_elsewhere_while_a_device_is_at_work_on_earlier_windows) {
  SmallGraph g;
  for (const char* name : {"a", "b", "c"}) g.work(name, 100, {});
  const std::vector<Duration> busy = {Duration{450}, Duration{0}};
  BOOST_TEST(
      (place(g.graph, fast_and_slow(), {.ops = {}, .busy = busy}) == Devices{slow, slow, fast}));
}

// a 100 on dev0   wait   four of 10 each: without the wait, dev1 would do all of them by 40
BOOST_AUTO_TEST_CASE(behind_a_wait_all_devices_are_free) {
  SmallGraph g;
  g.work("a", 100, {}, on(DeviceId{0}));
  for (int i = 0; i < 4; ++i) g.work("b", 10);
  const Devices placed = place(g.graph, testing::two_devices(), {.ops = {}, .waits = {1}});
  BOOST_TEST(std::count(placed.begin() + 1, placed.end(), DeviceId{0}) == 2);
}

// x (160 ns, on fast) ── t   wait   three of 100 each read x
//
// The last would end on fast at 300, on slow at 200 if x is there, else at 360.
BOOST_AUTO_TEST_CASE(behind_a_wait_tensors_are_where_they_were_read_and_else_move_anew) {
  for (const DeviceId t : {slow, fast}) {
    SmallGraph g;
    const OpId x = g.work("x", 10, {}, on(fast), 160);
    g.work("t", 1000, {x}, on(t));
    for (int i = 0; i < 3; ++i) g.work("r", 100, {x});
    const Devices placed = place(g.graph, fast_and_slow(), {.ops = {}, .waits = {2}});
    BOOST_TEST((placed == Devices{fast, t, fast, fast, t}));
  }
}

// x 100   z 200   perhaps a wait   y 1000 reads x: only behind a wait can y start no earlier if x
// goes first
BOOST_AUTO_TEST_CASE(the_rank_of_an_op_ends_at_a_wait) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  g.work("z", 200);
  g.work("y", 1000, {x});
  BOOST_TEST((place(g.graph, fast_and_slow()) == Devices{fast, slow, fast}));
  BOOST_TEST(
      (place(g.graph, fast_and_slow(), {.ops = {}, .waits = {2}}) == Devices{slow, fast, fast}));
}

// The same with tensors that take 800 ns: c would reach fast at 200 + 800 + 400 + 800.
BOOST_AUTO_TEST_CASE(where_tensors_are_large_everything_stays_on_one_device) {
  SmallGraph g;
  const OpId a = g.work("a", 200, {}, {}, 800);
  const OpId b = g.work("b", 400, {a}, {}, 800);
  const OpId c = g.work("c", 200, {a}, {}, 800);
  g.work("d", 200, {b, c}, {}, 800);
  BOOST_TEST((place(g.graph, fast_and_slow()) == Devices{fast, fast, fast, fast}));
}

// The diamond and an op e of 120 that depends on nothing. It comes last: b ends on fast at 600 and
// d starts there at 760, a gap that holds e until 720; slow is busy from 280 to 680, and e would
// take 240 there: before c until 240.
BOOST_AUTO_TEST_CASE(a_gap_that_is_long_enough_is_used) {
  SmallGraph g;
  const OpId a = g.work("a", 200, {}, {}, 80);
  const OpId b = g.work("b", 400, {a}, {}, 80);
  const OpId c = g.work("c", 200, {a}, {}, 80);
  g.work("d", 200, {b, c}, {}, 80);
  const OpId e = g.work("e", 120, {}, {}, 80);
  BOOST_TEST((place(g.graph, fast_and_slow())[e.index()] == slow));
  // 150 on fast, 300 on slow: too long for the gap before c, so 600-750 on fast, not 680-980.
  SmallGraph longer;
  const OpId a2 = longer.work("a", 200, {}, {}, 80);
  const OpId b2 = longer.work("b", 400, {a2}, {}, 80);
  const OpId c2 = longer.work("c", 200, {a2}, {}, 80);
  longer.work("d", 200, {b2, c2}, {}, 80);
  const OpId e2 = longer.work("e", 150, {}, {}, 80);
  BOOST_TEST((place(longer.graph, fast_and_slow())[e2.index()] == fast));
}

// The same with an e of 140 that takes 280 on slow, all of the gap there before c. On fast it would
// end at 740.
BOOST_AUTO_TEST_CASE(a_gap_that_fits_exactly_is_used) {
  SmallGraph g;
  const OpId a = g.work("a", 200, {}, {}, 80);
  const OpId b = g.work("b", 400, {a}, {}, 80);
  const OpId c = g.work("c", 200, {a}, {}, 80);
  g.work("d", 200, {b, c}, {}, 80);
  const OpId e = g.work("e", 140, {}, {}, 80);
  BOOST_TEST((place(g.graph, fast_and_slow())[e.index()] == slow));
}

// a 100 ── a2 100     b 700     c 550      a tensor of a takes 900 ns between the memories
//
// one and two share a memory, three has its own: 4 of the 9 pairs of devices are in different
// memories, so a transfer takes 400 on average and a has rank 600. The order is b a c, and the
// first three ops each take the next free device.
BOOST_AUTO_TEST_CASE(the_mean_of_a_transfer_is_over_all_pairs_of_devices) {
  SmallMachine m;
  const MemoryId shared = m.memory("shared");
  const MemoryId own = m.memory("own");
  const DeviceId one = m.device("one", shared);
  const DeviceId two = m.device("two", shared);
  const DeviceId three = m.device("three", own);
  m.link("link", shared, own);
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, {}, 904);
  g.work("a2", 100, {a});
  const OpId b = g.work("b", 700);
  const OpId c = g.work("c", 550);
  const Devices placed = place(g.graph, m.machine);
  BOOST_TEST((placed[b.index()] == one));
  BOOST_TEST((placed[a.index()] == two));
  BOOST_TEST((placed[c.index()] == three));
}

// x on near ── y        near ──first── (no device) ──second── far
//
// Whether y goes to far, if x takes so many bytes, and near k times as long for a FLOP as far does.
using Links = std::function<void(SmallMachine&, MemoryId near, MemoryId between, MemoryId far)>;
bool goes_far(const Links& add_links, std::int64_t bytes, double k) {
  SmallMachine m;
  const MemoryId here = m.memory("here");
  const MemoryId between = m.memory("between");
  const MemoryId there = m.memory("there");
  const DeviceId near = m.device("near", here);
  const DeviceId far = m.device("far", there);
  add_links(m, here, between, there);
  m.machine.devices[near.index()].op_flops["work"] = 1e9 / k;
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(near), bytes);
  const OpId y = g.work("y", 100, {x});
  return place(g.graph, m.machine)[y.index()] == far;
}

// x takes 200 + 144 ns to far, and ends at 100 k; y ends at 200 k on near or at 100 k + 344 + 100
// on far.
BOOST_AUTO_TEST_CASE(a_small_tensor_takes_the_sum_of_the_times_over_all_links_of_its_route) {
  const Links links = [](SmallMachine& m, MemoryId near, MemoryId between, MemoryId far) {
    m.link("first", near, between, std::chrono::nanoseconds(56));
    m.link("second", between, far);
  };
  BOOST_TEST(!goes_far(links, 144, 4.43));
  BOOST_TEST(goes_far(links, 144, 4.45));
}

// x is cut into ten chunks of 100 ns each, the first of which takes 50 more on second: it is on far
// 1000 + 100 + 50 after its end at 100 k. y ends at 200 k on near or at 100 k + 1150 + 100 on far.
BOOST_AUTO_TEST_CASE(chunks_of_a_tensor_follow_each_other_over_the_links_of_a_route) {
  const Links links = [](SmallMachine& m, MemoryId near, MemoryId between, MemoryId far) {
    m.link("first", near, between, {}, Sharing::fifo, 100);
    m.link("second", between, far, std::chrono::nanoseconds(50), Sharing::fifo, 200);
  };
  BOOST_TEST(!goes_far(links, 1000, 12.49));
  BOOST_TEST(goes_far(links, 1000, 12.51));
}

// s 150 on one     r 100 on two ── zero ── zero ── … ── zero
//
// All of the chain has rank 0: only in the order of the graph is each op's input placed before it.
BOOST_AUTO_TEST_CASE(a_chain_of_ops_without_cost_is_placed_in_the_order_of_the_graph) {
  SmallMachine m;
  const MemoryId shared = m.memory("shared");
  const DeviceId one = m.device("one", shared);
  const DeviceId two = m.device("two", shared);
  SmallGraph g;
  g.work("s", 150, {}, on(one));
  OpId last = g.work("r", 100, {}, on(two));
  for (int i = 0; i < 40; ++i) last = g.work("zero", 0, {last});
  const Devices placed = place(g.graph, m.machine);
  for (std::size_t i = 1; i < placed.size(); ++i) BOOST_TEST((placed[i] == two));
}

// Twelve equal ops: a device with three streams takes three at a time.
BOOST_AUTO_TEST_CASE(streams_of_a_device_are_places_to_run) {
  SmallMachine m;
  m.device("one", m.memory("a"), 1);
  m.device("three", m.memory("b"), 3);
  SmallGraph g;
  for (int i = 0; i < 12; ++i) g.work("op", 100);
  std::size_t on_one = 0;
  for (const DeviceId d : place(g.graph, m.machine)) on_one += d == DeviceId{0} ? 1U : 0U;
  BOOST_TEST(on_one == 3U);
}

// a on slow ── b
BOOST_AUTO_TEST_CASE(an_op_that_is_placed_already_stays_and_draws_its_readers) {
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, on(slow), 800);
  g.work("b", 100, {a}, {}, 8);
  BOOST_TEST((place(g.graph, fast_and_slow()) == Devices{slow, slow}));
}

// x (in slow's memory already) ── run
BOOST_AUTO_TEST_CASE(inputs_of_earlier_windows_draw_their_readers_to_where_they_live) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, {}, 800);
  const OpId run = g.work("run", 100, {x});
  const auto placed =
      place(g.graph, fast_and_slow(), {.ops = {run}, .home = [](OpId) { return MemoryId{1}; }});
  BOOST_TEST((placed == Devices{slow}));
}

// a ── copy to slow's memory ── b
BOOST_AUTO_TEST_CASE(a_copy_is_on_no_device_and_its_reader_follows_it) {
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, on(fast), 800);
  const OpId copy = g.copy("copy", a, to(MemoryId{1}));
  g.work("b", 100, {copy});
  BOOST_TEST((place(g.graph, fast_and_slow()) == Devices{fast, DeviceId::none(), slow}));
}

BOOST_AUTO_TEST_CASE(an_op_goes_only_where_it_can_run_and_nowhere_if_it_can_not) {
  SmallGraph g;
  const OpId a = g.work("a", 100);
  const OpId b = g.work("b", 200);
  const auto placed =
      place(g.graph, fast_and_slow(),
            {.ops = {}, .can_run = [=](DeviceId d, OpId op) { return op == a && d == slow; }});
  BOOST_TEST((placed[a.index()] == slow));
  BOOST_TEST((placed[b.index()] == DeviceId::none()));
}

// 1e18 ns are 31 years.
BOOST_AUTO_TEST_CASE(times_beyond_a_hundred_years_do_not_overflow) {
  SmallMachine m;
  m.device("one", m.memory("a"));
  m.device("other", m.memory("b"));
  SmallGraph g;
  OpId last = g.work("start", 1e18);
  for (int i = 0; i < 100; ++i) last = g.work("next", 1e18, {last});
  for (int i = 0; i < 100; ++i) g.work("alone", 1e18);
  for (const DeviceId d : place(g.graph, m.machine)) BOOST_TEST(static_cast<bool>(d));
}

// A chain across two memories without a link: as far apart as can be, but no overflow.
BOOST_AUTO_TEST_CASE(memories_without_a_route_are_far_apart) {
  SmallMachine m;
  m.device("one", m.memory("a"));
  m.device("other", m.memory("b"));
  SmallGraph g;
  OpId last = g.work("start", 1, {}, on(DeviceId{1}));
  for (int i = 0; i < 50; ++i) last = g.work("next", 1, {last});
  for (const DeviceId d : place(g.graph, m.machine)) BOOST_TEST((d == DeviceId{1}));
  for (int i = 0; i < 400; ++i) {
    last = g.work("hop", 1, {last}, on(DeviceId::at(static_cast<std::size_t>(i % 2))));
  }
  g.work("free", 1, {last});
  BOOST_TEST(place(g.graph, m.machine).size() == g.graph.size());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
