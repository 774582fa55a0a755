#include "core/plan/planner.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/plan_view.hpp"
#include "tests/support/share_view.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(transfers)
namespace {

using testing::expect_error;
using testing::on;
using testing::plan_by_rates;
using testing::PlanView;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::successors;
using testing::to;
using Names = std::vector<std::string>;

constexpr DeviceId gpu0{0};
constexpr DeviceId gpu1{1};
constexpr DeviceId gpu2{2};
constexpr MemoryId host{3};

// gpu0, gpu1 and gpu2 with a memory each, and the host's without a device; chunks of 4 KiB.
//   vram0 ──pcie0── host ──pcie1── vram1
//                    └────pcie2── vram2
Machine three_gpus() {
  SmallMachine m;
  for (int i = 0; i < 3; ++i) {
    const auto memory = m.memory("vram" + std::to_string(i));
    m.device("gpu" + std::to_string(i), memory);
  }
  const MemoryId ram = m.memory("host");
  for (std::size_t i = 0; i < 3; ++i) {
    m.link("pcie" + std::to_string(i), MemoryId::at(i), ram, {}, Sharing::fifo, 4096);
  }
  return m.machine;
}

struct Planned {
  explicit Planned(const SmallGraph& g, Machine m = three_gpus(), const PlanOptions& options = {})
      : machine(std::move(m)),
        plan(plan_by_rates(g.graph, machine, g.everything(), options)),
        view(g.graph, machine, plan) {}
  Planned(const Planned&) = delete;

  Machine machine;
  Plan plan;
  PlanView view;
};

void expect_units(const Planned& planned, const Names& wanted) {
  BOOST_TEST(planned.view.units() == wanted, boost::test_tools::per_element());
}

// x on gpu0 ── y on gpu0
BOOST_AUTO_TEST_CASE(a_tensor_that_is_there_already_is_not_moved) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  g.work("y", 1, {x}, on(gpu0));
  expect_units(Planned(g), {"x on gpu0", "y on gpu0"});
}

// x on gpu0 ── y on gpu1, through the host
BOOST_AUTO_TEST_CASE(a_tensor_crosses_each_link_of_its_route_as_a_unit_of_its_own) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 10'000);
  g.work("y", 1, {x}, on(gpu1));
  const Planned p(g);
  expect_units(p, {"x on gpu0", "x over pcie0", "x over pcie1", "y on gpu1"});
  BOOST_TEST(p.view.predecessors("x over pcie1") == Names{"x over pcie0"},
             boost::test_tools::per_element());
  BOOST_TEST(p.view.predecessors("y on gpu1") == Names{"x over pcie1"},
             boost::test_tools::per_element());
  const Share::Move& first = p.view.move("x over pcie0");
  const Share::Move& second = p.view.move("x over pcie1");
  BOOST_TEST((first.direction == Direction::forward));
  BOOST_TEST((second.direction == Direction::backward));
  for (const Share::Move& move : {first, second}) {
    BOOST_TEST(move.bytes == 10'000U);
    BOOST_TEST(move.chunks == 3U);
  }
  BOOST_TEST((first.paces && !first.paced));
  BOOST_TEST((second.paced && !second.paces));
  BOOST_TEST(p.plan.moves_on(UnitId{1}, UnitId{2}));
  BOOST_TEST(!p.plan.moves_on(UnitId{0}, UnitId{1}));
  BOOST_TEST(!p.plan.moves_on(UnitId{2}, UnitId{3}));
}

BOOST_AUTO_TEST_CASE(transfers_of_a_link_that_are_alike_share_a_move) {
  SmallGraph g;
  for (const std::int64_t bytes : {4096, 4096, 8192, 4096}) {
    const OpId x = g.work("x" + std::to_string(g.graph.size()), 1, {}, on(gpu0), bytes);
    g.copy("y" + std::to_string(g.graph.size()), x, to(host));
  }
  const Planned p(g);
  const Share& share = p.view.share(p.view.find("y1 over pcie0"));
  BOOST_TEST(share.size() == 4U);
  BOOST_TEST(share.moves.size() == 2U);
  BOOST_TEST(p.view.move("y3 over pcie0").bytes == 4096U);
  BOOST_TEST(p.view.move("y5 over pcie0").bytes == 8192U);
  BOOST_TEST(p.view.move("y7 over pcie0").bytes == 4096U);
}

BOOST_AUTO_TEST_CASE(a_transfer_over_one_fifo_link_is_a_single_chunk_and_over_a_fair_one_is_not) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 10'000);
  g.copy("y", x, to(host));
  Machine machine = three_gpus();
  BOOST_TEST(Planned(g, machine).view.move("y over pcie0").chunks == 1U);
  machine.links[0].sharing = Sharing::fair;
  BOOST_TEST(Planned(g, machine).view.move("y over pcie0").chunks == 3U);
}

BOOST_AUTO_TEST_CASE(a_route_is_cut_by_its_smallest_chunk_into_at_most_65535) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 1 << 20);
  g.copy("y", x, on(gpu1));
  Machine machine = three_gpus();
  machine.links[1].chunk_bytes = 1 << 10;
  BOOST_TEST(Planned(g, machine).view.move("x over pcie0").chunks == 1024U);
  machine.links[0].chunk_bytes = 3;
  const Planned finest(g, machine);
  BOOST_TEST(finest.view.move("x over pcie0").chunks == 65535U);
  BOOST_TEST(finest.view.move("x over pcie1").chunks == 65535U);
}

// x on gpu0 ─┬─ y on gpu1
//            └─ z on gpu1
BOOST_AUTO_TEST_CASE(two_readers_in_one_memory_share_a_replica) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  g.work("y", 1, {x}, on(gpu1));
  g.work("z", 1, {x, x}, on(gpu1));
  const Planned p(g);
  expect_units(p, {"x on gpu0", "x over pcie0", "x over pcie1", "y on gpu1", "z on gpu1"});
  const ReplicaId there = p.view.share(UnitId{2}).output(0);
  BOOST_TEST(p.plan.replicas[there.index()].readers == 3U);
}

// x on gpu0 ─┬─ y on gpu1
//            └─ z on gpu2:  the second route starts at the replica in the host
BOOST_AUTO_TEST_CASE(a_second_route_starts_where_the_first_one_left_a_replica) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 10'000);
  g.work("y", 1, {x}, on(gpu1));
  g.work("z", 1, {x}, on(gpu2));
  const Planned p(g);
  expect_units(
      p, {"x on gpu0", "x over pcie0", "x over pcie1", "y on gpu1", "x over pcie2", "z on gpu2"});
  BOOST_TEST(p.view.predecessors("x over pcie2") == Names{"x over pcie0"},
             boost::test_tools::per_element());
  const Share::Move& move = p.view.move("x over pcie2");
  BOOST_TEST((!move.paced && !move.paces));
  BOOST_TEST(move.chunks == 1U);
  BOOST_TEST(!p.plan.moves_on(UnitId{1}, UnitId{4}));
}

// a ──ab── b ──bc── c ──cd── d: x is made in a and read in c, then in d. It goes on from c, the
// last memory of the route that it is in, not from b nor from a.
BOOST_AUTO_TEST_CASE(a_second_route_starts_at_the_last_replica_on_its_way) {
  SmallMachine m;
  for (const char* name : {"a", "b", "c", "d"}) m.device(name, m.memory(name));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::string name{static_cast<char>('a' + i), static_cast<char>('b' + i)};
    m.link(name, MemoryId{i}, MemoryId{i + 1});
  }
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(DeviceId{0}), 10'000);
  g.work("y", 1, {x}, on(DeviceId{2}));
  g.work("z", 1, {x}, on(DeviceId{3}));
  const Planned p(g, m.machine);
  expect_units(p, {"x on a", "x over ab", "x over bc", "y on c", "x over cd", "z on d"});
  BOOST_TEST(p.view.predecessors("x over cd") == Names{"x over bc"},
             boost::test_tools::per_element());
}

// x on gpu0 ── copy to the host ── again to gpu1 ── y on gpu1
BOOST_AUTO_TEST_CASE(the_last_transfer_of_a_copy_makes_its_result) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  const OpId copy = g.copy("copy", x, to(host));
  const OpId again = g.copy("again", copy, to(MemoryId{1}));
  g.work("y", 1, {again}, on(gpu1));
  const Planned p(g);
  expect_units(p, {"x on gpu0", "copy over pcie0", "again over pcie1", "y on gpu1"});
  BOOST_TEST((p.view.output_memory(UnitId{1}) == host));
  BOOST_TEST((p.view.output_memory(UnitId{2}) == MemoryId{1}));
}

// x on gpu0 ── copy to gpu1's memory: two links, one op
BOOST_AUTO_TEST_CASE(a_copy_over_two_links_names_the_first_transfer_by_the_tensor) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  g.copy("copy", x, to(MemoryId{1}));
  expect_units(Planned(g), {"x on gpu0", "x over pcie0", "copy over pcie1"});
}

// x on gpu0 ── copy on gpu1: a device is asked to copy, so links only bring x there
BOOST_AUTO_TEST_CASE(a_copy_that_is_placed_on_a_device_is_made_by_it) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  g.copy("copy", x, on(gpu1));
  expect_units(Planned(g), {"x on gpu0", "x over pcie0", "x over pcie1", "copy on gpu1"});
}

BOOST_AUTO_TEST_CASE(a_copy_within_a_memory_is_made_by_a_device_there) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu1));
  g.copy("copy", x, to(MemoryId{1}));
  const Planned p(g);
  expect_units(p, {"x on gpu1", "copy on gpu1"});
  BOOST_TEST(p.plan.replicas.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_copy_within_a_memory_goes_to_a_device_that_has_the_kernel) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  g.copy("copy", x, to(MemoryId{0}));
  Machine machine = three_gpus();
  machine.devices[2].memory = MemoryId{0};
  PlanOptions options;
  options.has_kernel = [](DeviceId d, const OpKind& kind) {
    return kind.name != "copy" || d == gpu2;
  };
  expect_units(Planned(g, machine, options), {"x on gpu0", "copy on gpu2"});
}

BOOST_AUTO_TEST_CASE(a_copy_within_a_memory_without_a_device_goes_by_way_of_the_fastest_neighbour) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  const OpId copy = g.copy("copy", x, to(host));
  g.copy("again", copy, to(host));
  g.copy("third", copy, to(host));
  Machine machine = three_gpus();
  machine.links[2].bandwidth[0] *= 2;
  expect_units(Planned(g, machine), {"x on gpu0", "copy over pcie0", "copy over pcie2",
                                     "again over pcie2", "third over pcie2"});
}

BOOST_AUTO_TEST_CASE(a_copy_within_a_memory_that_has_neither_device_nor_link_is_refused) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  g.copy("copy", x, to(MemoryId{0}));
  Machine machine = three_gpus();
  machine.links.clear();
  PlanOptions options;
  options.has_kernel = [](DeviceId, const OpKind& kind) { return kind.name != "copy"; };
  expect_error(ErrorKind::usage, "'copy' copies within vram0, where no device has a kernel",
               [&] { Planned p(g, machine, options); });
}

// x on gpu0 ─┬─ y on gpu1, so that a replica of x is in the host
//            └─ copy to the host, where no device could duplicate it
BOOST_AUTO_TEST_CASE(a_copy_to_where_the_tensor_came_through_is_moved_again) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  g.work("y", 1, {x}, on(gpu1));
  g.copy("copy", x, to(host));
  expect_units(Planned(g),
               {"x on gpu0", "x over pcie0", "x over pcie1", "y on gpu1", "copy over pcie0"});
}

BOOST_AUTO_TEST_CASE(an_op_whose_input_can_not_reach_it_is_refused) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  g.graph.begin_group("y", false, {"run.yaml", 6, 3});
  g.graph.append(
      {.kind = g.graph.kinds().find("relu"), .inputs = std::span(&x, 1), .placement = on(gpu1)});
  Machine machine = three_gpus();
  machine.links.erase(machine.links.begin());
  expect_error(ErrorKind::usage,
               "run.yaml:6:3: 'y' needs 'x' in vram1, and there is no route from vram0",
               [&] { Planned p(g, machine); });
}

// x ── run on gpu1:   the transfer of x is prepared or timed, as its reader is
BOOST_AUTO_TEST_CASE(a_transfer_belongs_to_the_window_of_its_reader) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  const OpId y = g.work("y", 1, {x}, on(gpu1));
  g.work("run", 1, {x, y}, on(gpu1));
  const Machine machine = three_gpus();
  const Plan plan = plan_by_rates(g.graph, machine, g.scenario({"run"}), {.needs_costs = true});
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST(view.units() ==
                 (Names{"x on gpu0", "x over pcie0", "x over pcie1", "y on gpu1", "run on gpu1"}),
             boost::test_tools::per_element());
  BOOST_TEST((plan.first_timed == UnitId{4}));
  BOOST_TEST((view.share(UnitId{1}).move(0).expected.total() == Duration{0}));
}

// x on gpu0 ── pcie0 ── pcie1 ─┬─ y on gpu1
//                              └─ z on gpu1
BOOST_AUTO_TEST_CASE(a_transfer_sends_one_notice_for_several_ops_of_a_device) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0));
  g.work("y", 1, {x}, on(gpu1));
  g.work("z", 1, {x}, on(gpu1));
  const Planned p(g);
  const Share& pcie1 = p.view.share(p.view.find("x over pcie1"));
  const Share& there = p.view.share(p.view.find("y on gpu1"));
  BOOST_TEST((successors(p.view.item(p.view.find("x over pcie1")).resource, pcie1) ==
              std::vector{ItemRef{ResourceId{1}, 2}}));
  BOOST_TEST((there.first_arrival == std::vector<std::uint32_t>{0, 2}));
  BOOST_TEST((there.arrivals == std::vector<std::uint32_t>{0, 1}));
}

// x on gpu0 ── pcie0 ─┬─ first over pcie1, chunk by chunk
//                     ├─ second over pcie1, from the replica in the host
//                     └─ x over pcie1 ── y on gpu1
BOOST_AUTO_TEST_CASE(the_next_transfer_of_a_route_is_part_of_no_arrival) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(gpu0), 10'000);
  g.copy("first", x, to(MemoryId{1}));
  g.copy("second", x, to(MemoryId{1}));
  const Planned two(g);
  expect_units(two, {"x on gpu0", "x over pcie0", "first over pcie1", "second over pcie1"});
  BOOST_TEST_REQUIRE(two.view.move("x over pcie0").paces);
  // Besides the paced transfer there is only one successor, so there is no arrival.
  const Share& two_pcie0 = two.view.share(UnitId{1});
  BOOST_TEST((successors(two.view.item(UnitId{1}).resource, two_pcie0) ==
              std::vector{two.view.item(two.view.find("first over pcie1")),
                          two.view.item(two.view.find("second over pcie1"))}));
  BOOST_TEST(two.view.share(UnitId{2}).arrivals.empty());

  g.work("y", 1, {x}, on(gpu1));
  const Planned three(g);
  const Share& pcie0 = three.view.share(UnitId{1});
  const Share& pcie1 = three.view.share(UnitId{2});
  BOOST_REQUIRE(pcie1.size() == 3U);
  // The two other successors share an arrival.
  const ItemRef paced = three.view.item(UnitId{2});
  BOOST_TEST((successors(three.view.item(UnitId{1}).resource, pcie0) ==
              std::vector{paced, ItemRef{paced.resource, 3}}));
  BOOST_TEST((pcie1.arrivals == std::vector<std::uint32_t>{1, 2}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
