// When HEFT's placement is kept, and what takes its place.
#include "core/plan/policies/shortest_placement.hpp"

#include "core/base/random.hpp"
#include "core/cost/roofline.hpp"
#include "core/plan/policies/contended_schedule.hpp"
#include "core/plan/policies/heft.hpp"
#include "core/plan/policies/simple_placements.hpp"
#include "tests/support/random_cluster.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(shortest_placement_of_several)
namespace {

using testing::on;
using testing::SmallGraph;
using testing::SmallMachine;

using Devices = std::vector<DeviceId>;

// All ops of a graph, to be placed.
struct Case {
  Case(const Graph& g, Machine m) : graph(g), machine(std::move(m)) {
    for (std::size_t i = 0; i < graph.size(); ++i) ops.push_back(OpId::at(i));
  }
  Case(const Case&) = delete;

  PlacementRequest request() {
    return {.graph = graph,
            .machine = machine,
            .cost = cost,
            .router = router,
            .ops = ops,
            .placement = [this](OpId op) -> const Placement& { return graph.placement(op); },
            .home = [](OpId) { return MemoryId::none(); },
            .can_run = can_run,
            .reachability = anywhere};
  }
  Devices by_heft() { return heft_schedule(request()).devices; }
  Devices placed() { return shortest_placement(request()); }
  Duration makespan(const Devices& devices) {
    return ContendedSchedule(request(), 1 << 20).makespan(devices);
  }

  const Graph& graph;
  const Machine machine;
  const Roofline cost{machine};
  Router router{machine};
  Reachability anywhere{machine};
  std::vector<OpId> ops;
  std::function<bool(DeviceId, OpId)> can_run = [](DeviceId, OpId) { return true; };
};

// Devices with a memory each, which a link joins to a hub. A byte takes 1 ns.
Machine star(std::size_t devices, std::uint64_t size_bytes = 1 << 30) {
  SmallMachine m;
  const MemoryId hub = m.memory("hub", size_bytes);
  for (std::size_t i = 0; i < devices; ++i) {
    const MemoryId own = m.memory("own", size_bytes);
    m.device("dev", own);
    m.link("link", own, hub);
  }
  return m.machine;
}

// x ×20 on dev0, each with a reader that takes 100 ns.
void add_pairs(SmallGraph& g, std::int64_t bytes) {
  for (int i = 0; i < 20; ++i) {
    const OpId x = g.work("x", 1, {}, on(DeviceId{0}), bytes);
    g.work("r", 100, {x});
  }
}

// HEFT sees each tensor arrive after 2 × 200 ns, and a queue of readers on dev0.
BOOST_AUTO_TEST_CASE(crowded_links_leave_all_ops_on_the_device_that_has_what_they_read) {
  SmallGraph g;
  add_pairs(g, 200);
  Case c(g.graph, star(4));
  const Devices heft = c.by_heft();
  BOOST_REQUIRE(std::count(heft.begin(), heft.end(), DeviceId{0}) < 40);
  BOOST_TEST((c.placed() == Devices(40, DeviceId{0})));
}

// They would not fit into the memory of one device if none was ever freed.
BOOST_AUTO_TEST_CASE(ops_are_not_brought_together_where_there_might_not_be_room) {
  SmallGraph g;
  add_pairs(g, 200);
  const std::uint64_t all = 20 * (200 + 8);
  Case fits(g.graph, star(4, all));
  BOOST_TEST((fits.placed() == Devices(40, DeviceId{0})));
  Case does_not(g.graph, star(4, all - 1));
  BOOST_TEST((does_not.placed() == does_not.by_heft()));
}

// Eight columns of ten rows, each op of which reads what the three around it made.
void add_stencil(SmallGraph& g, std::int64_t bytes) {
  std::vector<OpId> row;
  for (int c = 0; c < 8; ++c) row.push_back(g.work("g", 1000, {}, {}, bytes));
  for (int r = 1; r < 10; ++r) {
    std::vector<OpId> next;
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::vector<OpId> inputs;
      for (std::size_t k = c > 0 ? c - 1 : 0; k <= std::min(c + 1, row.size() - 1); ++k) {
        inputs.push_back(row[k]);
      }
      next.push_back(g.work("g", 1000, inputs, {}, bytes));
    }
    row = next;
  }
}

BOOST_AUTO_TEST_CASE(crowded_links_divide_a_stencil_into_blocks) {
  SmallGraph g;
  add_stencil(g, 800);
  Case c(g.graph, star(4));
  const Devices placed = c.placed();
  for (std::size_t i = 0; i < placed.size(); ++i) {
    BOOST_TEST((placed[i] == DeviceId::at(i % 8 / 2)));
  }
}

BOOST_AUTO_TEST_CASE(blocks_are_in_proportion_to_the_speed_of_devices) {
  SmallMachine m;
  const MemoryId hub = m.memory("hub");
  for (const double flops : {1e9, 3e9}) {
    const MemoryId own = m.memory("own");
    m.device("dev", own, 1, flops);
    m.link("link", own, hub);
  }
  m.device("two", hub, 2, 2e9);
  SmallGraph g;
  for (int i = 0; i < 16; ++i) g.work("x", 1000);
  const Devices blocks = in_blocks(Case(g.graph, m.machine).request(), Follow::bytes);
  Devices wanted(2, DeviceId{0});
  wanted.resize(8, DeviceId{1});
  wanted.resize(16, DeviceId{2});
  BOOST_TEST((blocks == wanted));
}

//   w and x on dev0 (80 bytes each), y on dev1 (8), z on dev1 (80): u reads w y, v x z
BOOST_AUTO_TEST_CASE(
    in_blocks_an_op_goes_where_most_of_its_bytes_are_and_else_where_least_is_done) {
  SmallGraph g;
  const OpId w = g.work("w", 100, {}, on(DeviceId{0}), 80);
  const OpId x = g.work("x", 100, {}, on(DeviceId{0}), 80);
  const OpId y = g.work("y", 10, {}, on(DeviceId{1}), 8);
  const OpId z = g.work("z", 10, {}, on(DeviceId{1}), 80);
  g.work("u", 1, {w, y});
  g.work("v", 1, {x, z});
  const Devices blocks = in_blocks(Case(g.graph, star(2)).request(), Follow::bytes);
  BOOST_TEST((blocks[4] == DeviceId{0}));
  BOOST_TEST((blocks[5] == DeviceId{1}));
}

// w on dev1, x on dev0: the reader on dev1 has x there, so that v has all that it reads.
BOOST_AUTO_TEST_CASE(in_blocks_a_tensor_is_also_where_it_was_read_before) {
  SmallGraph g;
  const OpId w = g.work("w", 10, {}, on(DeviceId{1}), 80);
  const OpId x = g.work("x", 1, {}, on(DeviceId{0}), 80);
  const OpId read = g.work("read", 10, {x, w}, on(DeviceId{1}), 8);
  g.work("v", 10, {x, read});
  Case c(g.graph, star(2));
  BOOST_TEST((in_blocks(c.request(), Follow::bytes)[3] == DeviceId{1}));
  BOOST_TEST((in_blocks(c.request(), Follow::owners)[3] == DeviceId{0}));
}

// A row and a column, which three updates read, on dev0, and a tile for each of these.
BOOST_AUTO_TEST_CASE(following_owners_an_update_goes_to_the_tile_that_it_updates) {
  SmallGraph g;
  const OpId row = g.work("row", 1, {}, on(DeviceId{0}), 80);
  const OpId column = g.work("column", 1, {}, on(DeviceId{0}), 80);
  std::vector<OpId> tiles;
  for (std::size_t d = 0; d < 3; ++d) {
    tiles.push_back(g.work("tile", 1, {}, on(DeviceId::at(d)), 80));
  }
  for (const OpId tile : tiles) g.work("update", 10, {row, column, tile}, {}, 80);
  Case c(g.graph, star(3));
  const Devices owners = in_blocks(c.request(), Follow::owners);
  const Devices bytes = in_blocks(c.request(), Follow::bytes);
  for (std::size_t d = 0; d < 3; ++d) {
    BOOST_TEST((owners[5 + d] == DeviceId::at(d)));
    BOOST_TEST((bytes[5 + d] == DeviceId{0}));
  }
}

BOOST_AUTO_TEST_CASE(devices_that_share_a_memory_take_turns_in_a_block) {
  SmallGraph g;
  const OpId x = g.work("x", 10, {}, on(DeviceId{1}));
  for (int i = 0; i < 4; ++i) g.work("r", 10, {x});
  const Devices blocks =
      in_blocks(Case(g.graph, testing::two_devices_on_one_memory()).request(), Follow::bytes);
  constexpr DeviceId dev0{0};
  constexpr DeviceId dev1{1};
  BOOST_TEST((blocks == Devices{dev1, dev0, dev0, dev1, dev0}));
}

BOOST_AUTO_TEST_CASE(simple_placements_use_only_devices_that_can_run_an_op) {
  SmallGraph g;
  const OpId x = g.work("x", 10);
  const OpId y = g.work("y", 20, {x});
  Case c(g.graph, star(3));
  c.can_run = [=](DeviceId d, OpId op) { return d.index() == (op == y ? 1U : 2U); };
  for (const Follow follow : {Follow::bytes, Follow::owners}) {
    BOOST_TEST((in_blocks(c.request(), follow) == Devices{DeviceId{2}, DeviceId{1}}));
  }
  BOOST_TEST(!on_one_device(c.request()));
  c.can_run = [](DeviceId d, OpId) { return d.index() > 0; };
  BOOST_TEST((on_one_device(c.request()) == Devices(2, DeviceId{1})));
}

// dev0 has as much work as dev1, whose memory has what the ops read, and two streams half of it.
BOOST_AUTO_TEST_CASE(the_one_device_is_the_soonest_and_of_equal_ones_that_with_the_inputs) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(DeviceId{1}));
  g.work("r", 10, {x});
  constexpr DeviceId dev1{1};
  BOOST_TEST((on_one_device(Case(g.graph, star(3)).request()) == Devices(2, dev1)));
  BOOST_TEST((on_one_device(Case(g.graph, testing::two_devices({.streams = 2})).request()) ==
              Devices{dev1, DeviceId{0}}));
}

// x is with a slow device. Each of ten ops ends there 200 ns sooner than x comes to the fast one.
BOOST_AUTO_TEST_CASE(ops_that_follow_each_other_go_together_to_a_faster_device) {
  SmallGraph g;
  OpId x = g.work("x", 1, {}, on(DeviceId{0}), 400);
  for (int i = 0; i < 10; ++i) x = g.work("next", 200, {x}, {}, 400);
  Case c(g.graph, testing::two_devices({.flops = {1e9, 1e10}}));
  Devices wanted(11, DeviceId{1});
  wanted[0] = DeviceId{0};
  BOOST_TEST((c.by_heft() == Devices(11, DeviceId{0})));
  BOOST_TEST((c.placed() == wanted));
}

// Tensors of 8 bytes: nothing waits for long.
BOOST_AUTO_TEST_CASE(where_links_are_idle_the_placement_of_heft_is_kept) {
  for (const bool is_stencil : {true, false}) {
    SmallGraph g;
    if (is_stencil) {
      add_stencil(g, 8);
    } else {
      add_pairs(g, 8);
    }
    Case c(g.graph, star(4));
    const Devices heft = c.by_heft();
    BOOST_TEST(std::set<DeviceId>(heft.begin(), heft.end()).size() > 1);
    BOOST_TEST((c.placed() == heft));
  }
}

// A graph with tensors of up to 800 bytes, ops of up to 300 ns, and a few that are placed.
void add_random(SmallGraph& g, Random& random, std::size_t devices) {
  const std::uint64_t ops = 1 + random.below(150);
  for (std::uint64_t i = 0; i < ops; ++i) {
    std::vector<OpId> inputs;
    for (std::uint64_t k = random.below(4); k > 0 && i > 0; --k) {
      inputs.push_back(OpId::at(i - 1 - random.below(std::min<std::uint64_t>(i, 20))));
    }
    const Placement placement =
        random.below(10) == 0 ? on(DeviceId::at(random.below(devices))) : Placement{};
    g.work("work", static_cast<double>(100 * random.below(4)), inputs, placement,
           static_cast<std::int64_t>(8 * (1 + 33 * random.below(4))));
  }
}

BOOST_AUTO_TEST_CASE(on_random_machines_what_takes_the_place_of_heft_is_never_longer) {
  std::size_t replaced = 0;
  std::size_t kept = 0;
  for (std::uint64_t seed = testing::first_seed(); seed <= testing::seeds(300); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      const Machine machine = testing::random_cluster(random);
      SmallGraph g;
      add_random(g, random, machine.devices.size());
      Case c(g.graph, machine);
      const Devices heft = c.by_heft();
      const Devices placed = c.placed();
      for (std::size_t i = 0; i < placed.size(); ++i) {
        const DeviceId given = g.graph.placement(OpId::at(i)).device;
        BOOST_TEST(static_cast<bool>(placed[i]));
        if (given) BOOST_TEST((placed[i] == given));
      }
      ++(placed == heft ? kept : replaced);
      if (placed != heft) BOOST_TEST((c.makespan(placed) < c.makespan(heft)));
    }
  }
  BOOST_TEST(20 * (replaced + 1) > kept);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
