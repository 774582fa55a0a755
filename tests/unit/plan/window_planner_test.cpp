#include "core/plan/planner.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/share_view.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <malloc.h>

namespace troupe {
BOOST_AUTO_TEST_SUITE(window_planner)
namespace {

using testing::expect_error;
using testing::on;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::to;
using testing::two_devices_on_one_memory;
using testing::units;
using testing::waits_for;
using Counts = std::vector<std::uint32_t>;
using Replicas = std::vector<ReplicaId>;

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};
constexpr ResourceId on_dev0{0};
constexpr ResourceId on_dev1{1};
constexpr ResourceId over_link{2};
constexpr MemoryId memory_b{1};

// dev0 and dev1 with a memory each, and a link.
Machine pair() {
  return testing::two_devices();
}

// A graph that grows and its windows.
struct Streamed {
  explicit Streamed(Machine on_machine) : machine(std::move(on_machine)) {}

  PlannedWindow plan(OpId keep_from = OpId::at(0)) { return planner.plan(keep_from); }
  OpId end() const { return OpId::at(g.graph.size()); }

  Machine machine;
  SmallGraph g;
  WindowPlanner planner{g.graph, machine, {.cost = default_cost_model(machine)}};
};

// The resource must have a share.
const Share& share(const PlannedWindow& planned, ResourceId resource) {
  for (const auto& [r, share] : planned.window.shares) {
    if (r == resource) return share;
  }
  BOOST_FAIL("no share of resource " << resource.value);
  std::abort();
}

using Late = std::vector<std::tuple<std::uint32_t, std::uint32_t, ItemRef>>;  // window, item, to
Late late(const PlannedWindow& planned, ResourceId resource) {
  Late edges;
  for (const Share::LateEdge& e : share(planned, resource).late) {
    edges.emplace_back(e.window, e.item, e.to);
  }
  return edges;
}

using Holds = std::vector<std::pair<OpId, ReplicaId>>;
Holds holds(const PlannedWindow& planned) {
  Holds holds;
  for (const PlannedWindow::Hold& hold : planned.holds) holds.emplace_back(hold.op, hold.replica);
  return holds;
}

Counts readers(const PlannedWindow& planned) {
  Counts counts;
  for (const ReplicaSpec& spec : planned.replicas) counts.push_back(spec.readers);
  return counts;
}

// a ── b │ c │ d ── e      c reads a on the other device
BOOST_AUTO_TEST_CASE(windows_units_and_replicas_are_numbered_over_the_whole_run) {
  Streamed s(pair());
  const OpId a = s.g.work("a", 10, {}, on(dev0));
  s.g.work("b", 10, {a}, on(dev0));
  const PlannedWindow first = s.plan();
  s.g.work("c", 10, {a}, on(dev1));
  const PlannedWindow second = s.plan();
  const OpId d = s.g.work("d", 10, {}, on(dev1));
  s.g.work("e", 10, {d}, on(dev1));
  const PlannedWindow third = s.plan();
  const PlannedWindow* const all[] = {&first, &second, &third};
  for (std::uint32_t w = 0; w < 3; ++w) {
    const Window& window = all[w]->window;
    BOOST_TEST(window.number == w);
    BOOST_TEST(window.first.value == 2 * w);
    BOOST_TEST(window.items == 2U);
    BOOST_TEST(all[w]->replicas.size() == 2U);
    BOOST_TEST(window.timed);
    BOOST_TEST(!window.waits);
    for (const auto& [resource, share] : window.shares) BOOST_TEST(share.window == w);
  }
  BOOST_TEST((units(share(second, over_link)) == std::vector{UnitId{2}}));
  BOOST_TEST((units(share(second, on_dev1)) == std::vector{UnitId{3}}));
  BOOST_TEST((units(share(third, on_dev1)) == std::vector{UnitId{4}, UnitId{5}}));
  BOOST_TEST(s.planner.plan().windows.empty());
  BOOST_TEST(s.planner.plan().units.size() == 6U);
}

// x │ y
BOOST_AUTO_TEST_CASE(an_op_that_reads_an_earlier_window_has_a_late_edge_and_is_no_successor) {
  Streamed s(two_devices_on_one_memory());
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  const PlannedWindow first = s.plan();
  s.g.work("y", 10, {x}, on(dev0));
  const PlannedWindow second = s.plan();
  BOOST_TEST(share(first, on_dev0).successors_of(0).empty());
  BOOST_TEST(second.window.shares.size() == 1U);
  BOOST_TEST((waits_for(share(second, on_dev0)) == Counts{1}));
  BOOST_TEST((late(second, on_dev0) == Late{{0, 0, {on_dev0, 0}}}));
}

// x on dev0 │ y on dev1
BOOST_AUTO_TEST_CASE(a_late_edge_is_in_the_makers_share_even_if_that_has_no_items) {
  Streamed s(two_devices_on_one_memory());
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  s.plan();
  s.g.work("y", 10, {x}, on(dev1));
  const PlannedWindow second = s.plan();
  BOOST_TEST(second.window.shares.size() == 2U);
  BOOST_TEST(second.window.items == 1U);
  const Share& maker = share(second, on_dev0);
  BOOST_TEST(maker.size() == 0U);
  BOOST_TEST(maker.window == 1U);
  BOOST_TEST(maker.timed);
  BOOST_TEST((late(second, on_dev0) == Late{{0, 0, {on_dev1, 0}}}));
  BOOST_TEST((waits_for(share(second, on_dev1)) == Counts{1}));
  BOOST_TEST(share(second, on_dev1).late.empty());
}

// The longer op comes first in the share.
//   short, long │ next │ reader of short, next, short
BOOST_AUTO_TEST_CASE(a_late_edge_is_made_for_each_reading_of_an_earlier_window) {
  Streamed s(two_devices_on_one_memory());
  const OpId little = s.g.work("short", 10, {}, on(dev0));
  s.g.work("long", 1000, {}, on(dev0));
  s.plan();
  const OpId next = s.g.work("next", 10, {}, on(dev1));
  s.plan();
  s.g.work("first", 1000, {}, on(dev1));
  s.g.work("reader", 10, {little, next, little}, on(dev1));
  const PlannedWindow third = s.plan();
  BOOST_TEST((late(third, on_dev0) == Late{{0, 1, {on_dev1, 1}}, {0, 1, {on_dev1, 1}}}));
  BOOST_TEST((late(third, on_dev1) == Late{{1, 0, {on_dev1, 1}}}));
  BOOST_TEST((waits_for(share(third, on_dev1)) == Counts{0, 3}));
}

// x │ y │ z    x's window is done when z is planned
BOOST_AUTO_TEST_CASE(a_forgotten_unit_has_no_late_edge_and_its_tensor_is_read_again) {
  Streamed s(two_devices_on_one_memory());
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  s.plan();
  const OpId y = s.g.work("y", 10, {}, on(dev1));
  s.plan();
  s.planner.forget(1, ReplicaId{0});
  s.g.work("z", 10, {x, y}, on(dev1));
  const PlannedWindow third = s.plan();
  BOOST_TEST(third.window.shares.size() == 1U);
  BOOST_TEST((waits_for(share(third, on_dev1)) == Counts{1}));
  BOOST_TEST((late(third, on_dev1) == Late{{1, 0, {on_dev1, 0}}}));
  BOOST_TEST((third.read_again == Replicas{ReplicaId{0}, ReplicaId{1}}));
}

// x │ y │ z    x's window is done when z is planned
BOOST_AUTO_TEST_CASE(a_unit_of_a_completed_window_has_no_late_edge_but_stays_in_the_plan) {
  Streamed s(two_devices_on_one_memory());
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  s.plan();
  const OpId y = s.g.work("y", 10, {}, on(dev1));
  s.plan();
  s.planner.on_completed(1);
  BOOST_TEST(s.planner.plan().units.holds(0));
  s.g.work("z", 10, {x, y}, on(dev1));
  const PlannedWindow third = s.plan();
  BOOST_TEST((waits_for(share(third, on_dev1)) == Counts{1}));
  BOOST_TEST((late(third, on_dev1) == Late{{1, 0, {on_dev1, 0}}}));
  BOOST_TEST((third.read_again == Replicas{ReplicaId{0}, ReplicaId{1}}));
  s.planner.on_completed(3);
  s.g.work("last", 10, {x, y}, on(dev0));
  const PlannedWindow fourth = s.plan();
  BOOST_TEST((waits_for(share(fourth, on_dev0)) == Counts{0}));
  BOOST_TEST(late(fourth, on_dev0).empty());
}

BOOST_AUTO_TEST_CASE(all_windows_may_be_forgotten_while_their_tensors_are_there) {
  Streamed s(pair());
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  s.plan();
  s.planner.forget(7, ReplicaId{0});
  BOOST_TEST(!s.planner.plan().units.holds(0));
  BOOST_TEST(s.planner.plan().replicas.holds(0));
  s.g.work("y", 10, {x}, on(dev1));
  const PlannedWindow second = s.plan();
  BOOST_TEST((second.window.first == UnitId{1}));
  BOOST_TEST((waits_for(share(second, over_link)) == Counts{0}));
  BOOST_TEST((waits_for(share(second, on_dev1)) == Counts{1}));
  BOOST_TEST((second.read_again == Replicas{ReplicaId{0}}));
}

// x │ y reads x twice, z once more
BOOST_AUTO_TEST_CASE(read_again_counts_every_reading) {
  Streamed s(two_devices_on_one_memory());
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  const PlannedWindow first = s.plan();
  BOOST_TEST(first.read_again.empty());
  const OpId y = s.g.work("y", 10, {x, x}, on(dev1));
  s.g.work("z", 10, {x, y}, on(dev0));
  const PlannedWindow second = s.plan();
  BOOST_TEST((second.read_again == Replicas(3, ReplicaId{0})));
  BOOST_TEST(late(second, on_dev0).size() == 3U);
}

// x │ y and z on the other device
BOOST_AUTO_TEST_CASE(a_tensor_that_is_transferred_is_read_again_once) {
  Streamed s(pair());
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  s.plan();
  s.g.work("y", 10, {x, x}, on(dev1));
  s.g.work("z", 10, {x}, on(dev1));
  const PlannedWindow second = s.plan();
  BOOST_TEST((second.read_again == Replicas{ReplicaId{0}}));
  BOOST_TEST(readers(second)[0] == 3U + 1U);  // readers of the copy: y twice, z, and the hold
}

// a ── b    c
BOOST_AUTO_TEST_CASE(tensors_that_may_be_read_later_or_that_nobody_reads_are_held) {
  for (const std::uint32_t keep_from : {0U, 1U, 2U, 3U}) {
    Streamed s(two_devices_on_one_memory());
    const OpId a = s.g.work("a", 10, {}, on(dev0));
    const OpId b = s.g.work("b", 10, {a}, on(dev0));
    const OpId c = s.g.work("c", 10, {}, on(dev0));
    const PlannedWindow planned = s.plan(OpId{keep_from});
    Holds wanted;
    if (keep_from == 0) wanted.emplace_back(a, ReplicaId{0});
    wanted.emplace_back(b, ReplicaId{1});
    wanted.emplace_back(c, ReplicaId{2});
    BOOST_TEST((holds(planned) == wanted));
    BOOST_TEST((readers(planned) == Counts{keep_from == 0 ? 2U : 1U, 1, 1}));
    // A tensor that later windows may read is not private: any actor may read it.
    for (std::uint32_t op = 0; op < 3; ++op) {
      BOOST_TEST(planned.replicas[op].is_private == (op < keep_from));
    }
  }
}

// x on dev0 ── y on dev1
BOOST_AUTO_TEST_CASE(copies_in_other_memories_are_held_with_their_op) {
  for (const bool is_kept : {true, false}) {
    Streamed s(pair());
    const OpId x = s.g.work("x", 10, {}, on(dev0));
    const OpId y = s.g.work("y", 10, {x}, on(dev1));
    const PlannedWindow planned = s.plan(is_kept ? x : y);
    Holds wanted;
    if (is_kept) wanted = {{x, ReplicaId{0}}, {x, ReplicaId{1}}};
    wanted.emplace_back(y, ReplicaId{2});
    BOOST_TEST((holds(planned) == wanted));
  }
}

// x on dev0 ── y on dev1 │ z on dev1 │ w on dev1
BOOST_AUTO_TEST_CASE(a_copy_in_another_memory_serves_later_windows) {
  Streamed s(pair());
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  s.g.work("y", 10, {x}, on(dev1));
  s.plan(x);
  s.g.work("z", 10, {x}, on(dev1));
  const PlannedWindow second = s.plan(x);
  BOOST_TEST(second.window.items == 1U);
  BOOST_TEST((second.read_again == Replicas{ReplicaId{1}}));
  BOOST_TEST((late(second, over_link) == Late{{0, 0, {on_dev1, 0}}}));
  s.planner.forget(2, ReplicaId{0});
  s.g.work("w", 10, {x, x}, on(dev1));
  const PlannedWindow third = s.plan(s.end());
  BOOST_TEST(third.window.items == 1U);
  BOOST_TEST((third.read_again == Replicas(2, ReplicaId{1})));
  BOOST_TEST((waits_for(share(third, on_dev1)) == Counts{0}));
}

// x on dev0 │ c, its copy in b │ y on dev1 reads c
BOOST_AUTO_TEST_CASE(a_copy_that_links_make_is_read_where_it_is) {
  Streamed s(pair());
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  s.plan();
  const OpId c = s.g.copy("c", x, to(memory_b));
  const PlannedWindow second = s.plan(c);
  BOOST_TEST((holds(second) == Holds{{c, ReplicaId{1}}}));
  BOOST_TEST((late(second, on_dev0) == Late{{0, 0, {over_link, 0}}}));
  s.g.work("y", 10, {c}, on(dev1));
  const PlannedWindow third = s.plan(s.end());
  BOOST_TEST(third.window.items == 1U);
  BOOST_TEST((late(third, over_link) == Late{{1, 0, {on_dev1, 0}}}));
}

BOOST_AUTO_TEST_CASE(an_input_that_no_link_brings_is_refused_by_the_window_that_reads_it) {
  SmallMachine m;
  m.device("dev0", m.memory("a"));
  m.device("dev1", m.memory("b"));
  Streamed s(m.machine);
  const OpId x = s.g.work("x", 10, {}, on(dev0));
  s.plan();
  s.g.work("y", 10, {x}, on(dev1));
  expect_error(ErrorKind::usage, "'y' needs 'x' in b, and there is no route from a",
               [&] { s.plan(); });
}

// The ops of each window read tensors of the window before, in the same memory and over the link.
BOOST_AUTO_TEST_CASE(memory_does_not_grow_with_the_windows_that_are_forgotten) {
  const auto bytes_in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const Machine machine = pair();
  Graph graph(testing::test_ops());
  WindowPlanner planner(graph, machine, {.cost = default_cost_model(machine)});
  graph.begin_group("all", true);
  const OpTemplateId templates[] = {graph.add_template({.kind = graph.kinds().find("work"),
                                                        .placement = on(dev0),
                                                        .declared = testing::of_bytes(8)}),
                                    graph.add_template({.kind = graph.kinds().find("work"),
                                                        .placement = on(dev1),
                                                        .declared = testing::of_bytes(8)})};
  std::size_t before = 0;
  std::vector<OpId> last;
  for (std::uint32_t w = 0; w < 3000; ++w) {
    if (w == 300) before = bytes_in_use();
    std::vector<OpId> row;
    for (std::size_t i = 0; i < 10; ++i) row.push_back(graph.append(templates[i % 2], last));
    last = {row[0], row[1]};
    const PlannedWindow planned = planner.plan(row[0]);
    // The previous window has completed.
    planner.forget(w, ReplicaId{planned.window.first.value});
    graph.forget_before(row[0]);
    BOOST_TEST_REQUIRE((w == 0 || planned.window.items == 10U + 2U));
  }
  const std::size_t now = bytes_in_use();
  BOOST_TEST(now < before + (64 << 10), now - before << " bytes more");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
