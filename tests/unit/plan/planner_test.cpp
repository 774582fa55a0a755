#include "core/plan/planner.hpp"

#include "core/cost/roofline.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/plan_view.hpp"
#include "tests/support/share_view.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using testing::expect_error;
using testing::expected;
using testing::on;
using testing::PlanView;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::successors;
using testing::successors_of;
using testing::to;
using testing::units;
using testing::waits_for;
using Names = std::vector<std::string>;

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};

// dev0 and dev1 with a memory each, 1 ns a byte and 1 µs of latency between them.
Machine pair() {
  return testing::two_devices({.latency = std::chrono::microseconds(1)});
}

// dev0 and dev1 on one memory.
Machine neighbours() {
  SmallMachine m;
  const MemoryId a = m.memory("a");
  m.device("dev0", a);
  m.device("dev1", a);
  return m.machine;
}

std::vector<std::uint32_t> items_of_arrival(const Share& share, std::uint32_t item) {
  const auto items = share.items_of_arrival(item - share.size());
  return {items.begin(), items.end()};
}

BOOST_AUTO_TEST_SUITE(planner)

// x ── y    on one device
BOOST_AUTO_TEST_CASE(ops_of_one_device_make_one_share_with_their_dependencies) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  g.work("y", 50, {x}, on(dev0));
  const Plan plan = make_plan(g.graph, pair(), g.everything(), {});
  BOOST_REQUIRE(plan.windows.size() == 1U);
  BOOST_TEST(plan.windows[0].items == 2U);
  BOOST_REQUIRE(plan.windows[0].shares.size() == 1U);
  const auto& [resource, share] = plan.windows[0].shares[0];
  BOOST_TEST((resource == ResourceId{0}));
  BOOST_TEST((waits_for(share) == std::vector<std::uint32_t>{0, 1}));
  BOOST_TEST((expected(share) == std::vector{Duration{100}, Duration{50}}));
  BOOST_TEST((successors_of(resource, share, 0) == std::vector{ItemRef{resource, 1}}));
  BOOST_TEST(share.successors_of(1).empty());
  BOOST_TEST(share.elsewhere.empty());
  BOOST_TEST((share.inputs_of(1)[0] == share.output(0)));
  BOOST_TEST(plan.timed_ops == 2U);
}

// x ══ y (x twice)
BOOST_AUTO_TEST_CASE(an_input_read_twice_is_two_dependencies_and_two_readers) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  g.work("y", 100, {x, x}, on(dev0));
  const Plan plan = make_plan(g.graph, pair(), g.everything(), {});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_TEST(share.items[1].waits_for == 2U);
  BOOST_TEST(share.successors_of(0).size() == 2U);
  BOOST_TEST(share.inputs_of(1).size() == 2U);
  BOOST_TEST(plan.replicas[share.output(0).index()].readers == 2U);
}

// Longest ways to the end, transfers without latency:
//   a 100 ─┬─ b 30 ───────────── d 5
//          └─ (link 80) ─ c 20 ─ (link 8) ─┘
BOOST_AUTO_TEST_CASE(ranks_are_the_longest_ways_to_the_end) {
  SmallGraph g;
  const OpId a = g.work("a", 100, {}, on(dev0), 80);
  const OpId b = g.work("b", 30, {a}, on(dev0));
  const OpId c = g.work("c", 20, {a}, on(dev1), 8);
  g.work("d", 5, {b, c}, on(dev0));
  const Machine machine = pair();
  const Plan plan = make_plan(g.graph, machine, g.everything(), {});
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST((view.rank("d on dev0") == Duration{5}));
  BOOST_TEST((view.rank("b on dev0") == Duration{35}));
  BOOST_TEST((view.rank("c over link") == Duration{8 + 5}));
  BOOST_TEST((view.rank("c on dev1") == Duration{20 + 8 + 5}));
  BOOST_TEST((view.rank("a over link") == Duration{80 + 20 + 8 + 5}));
  BOOST_TEST((view.rank("a on dev0") == Duration{100 + 80 + 20 + 8 + 5}));
}

// s 1    a 100 ── b 10    t 1
BOOST_AUTO_TEST_CASE(a_device_has_the_longest_way_to_the_end_first_then_graph_order) {
  SmallGraph g;
  g.work("s", 1, {}, on(dev0));
  const OpId a = g.work("a", 100, {}, on(dev0));
  g.work("b", 10, {a}, on(dev0));
  g.work("t", 1, {}, on(dev0));
  const Machine machine = pair();
  const Plan plan = make_plan(g.graph, machine, g.everything(), {});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_TEST((units(share) == std::vector{UnitId{1}, UnitId{2}, UnitId{0}, UnitId{3}}));
  BOOST_TEST(
      (expected(share) == std::vector{Duration{100}, Duration{10}, Duration{1}, Duration{1}}));
  BOOST_TEST((waits_for(share) == std::vector<std::uint32_t>{0, 1, 0, 0}));
  BOOST_TEST((successors(ResourceId{0}, share) == std::vector{ItemRef{ResourceId{0}, 1}}));
  BOOST_TEST((share.inputs_of(1)[0] == share.output(0)));
  for (std::uint32_t item = 0; item < 4; ++item) {
    BOOST_TEST((plan.units[share.items[item].unit.index()].ref == ItemRef{ResourceId{0}, item}));
  }
}

// x ── y | z:   a wait after y
BOOST_AUTO_TEST_CASE(a_window_waits_for_nothing_of_those_before_it_but_remembers_it) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId y = g.work("y", 10, {x}, on(dev0));
  g.work("z", 1, {y, x}, on(dev0));
  const Machine machine = pair();
  const Plan plan = make_plan(g.graph, machine, g.scenario({"x", "y", "wait", "z"}), {});
  BOOST_REQUIRE(plan.windows.size() == 2U);
  const Share& first = plan.windows[0].shares[0].second;
  const Share& second = plan.windows[1].shares[0].second;
  BOOST_TEST(first.window == 0U);
  BOOST_TEST(second.window == 1U);
  BOOST_TEST(second.items[0].waits_for == 0U);
  BOOST_TEST(first.successors_of(1).empty());
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST(view.predecessors("z on dev0") == (Names{"y on dev0", "x on dev0"}),
             boost::test_tools::per_element());
  BOOST_TEST((view.rank("x on dev0") == Duration{111}));
}

// x ── run:   x is prepared
BOOST_AUTO_TEST_CASE(what_is_prepared_comes_first_and_is_not_timed) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev1));
  g.work("run", 10, {x}, on(dev0));
  const Machine machine = pair();
  const Plan plan = make_plan(g.graph, machine, g.scenario({"run"}), {.needs_costs = true});
  BOOST_REQUIRE(plan.windows.size() == 2U);
  BOOST_TEST(!plan.windows[0].timed);
  BOOST_TEST(plan.windows[1].timed);
  BOOST_TEST((plan.first_timed == UnitId{1}));
  BOOST_TEST(plan.ops.size() == 2U);
  BOOST_TEST(plan.timed_ops == 1U);
  const Share& prepared = plan.windows[0].shares[0].second;
  BOOST_TEST(!prepared.timed);
  BOOST_TEST((prepared.expected(0) == Duration{0}));
}

BOOST_AUTO_TEST_CASE(a_scenario_of_nothing_is_a_plan_of_nothing) {
  SmallGraph g;
  const Plan plan = make_plan(g.graph, pair(), g.scenario({"wait"}), {});
  BOOST_TEST(plan.windows.empty());
  BOOST_TEST(plan.units.size() == 0U);
  BOOST_TEST(!plan.first_timed);
}

// x ─┬─ y
//    └─ copy (to dev1's memory)
BOOST_AUTO_TEST_CASE(results_that_nothing_reads_are_kept) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId y = g.work("y", 10, {x}, on(dev0));
  const OpId copy = g.copy("copy", x, to(MemoryId{1}));
  const Plan plan = make_plan(g.graph, pair(), g.everything(), {});
  BOOST_REQUIRE(plan.results.size() == 2U);
  BOOST_TEST((plan.results[0].op == y));
  BOOST_TEST((plan.results[1].op == copy));
  for (const Plan::Result& r : plan.results) {
    BOOST_TEST(plan.replicas[r.replica.index()].readers == 1U);
  }
  BOOST_TEST((plan.replicas[plan.results[1].replica.index()].memory == MemoryId{1}));
}

// x ── y ── z, 800 bytes each: all of it is a quarter of 9,600 bytes
BOOST_AUTO_TEST_CASE(every_result_is_kept_where_all_take_a_quarter_of_the_memory) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(dev0), 800);
  const OpId y = g.work("y", 1, {x}, on(dev0), 800);
  g.work("z", 1, {y}, on(dev0), 800);
  Machine machine = pair();
  const PlanOptions options{.compare_results = true};
  machine.memories[0].size_bytes = 9600;
  const Plan all = make_plan(g.graph, machine, g.everything(), options);
  BOOST_TEST(all.results.size() == 3U);
  BOOST_TEST(all.replicas[0].readers == 2U);
  for (const Plan::Result& r : all.results) {
    BOOST_TEST(r.is_kept);
    BOOST_TEST(!all.replicas[r.replica.index()].leaves_digest);
  }
  machine.memories[0].size_bytes = 9599;
  const Plan last = make_plan(g.graph, machine, g.everything(), options);
  BOOST_REQUIRE(last.results.size() == 3U);
  for (const Plan::Result& r : last.results) {
    const bool is_last = r.op == OpId{2};
    BOOST_TEST(r.is_kept == is_last);
    BOOST_TEST(last.replicas[r.replica.index()].readers == 1U);
    BOOST_TEST(last.replicas[r.replica.index()].leaves_digest == !is_last);
  }
}

BOOST_AUTO_TEST_CASE(no_digest_is_taken_where_results_are_not_compared) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(dev0), 800);
  g.work("y", 1, {x}, on(dev0), 800);
  const Plan plan = make_plan(g.graph, pair(), g.everything(), {});
  BOOST_TEST(plan.results.size() == 1U);
  for (const ReplicaSpec& r : plan.replicas) BOOST_TEST(!r.leaves_digest);
}

BOOST_AUTO_TEST_CASE(equal_attributes_in_a_row_are_stored_once_in_a_share) {
  SmallGraph g;
  for (int i = 0; i < 6; ++i) g.work("op", i < 3 ? 100 : 200, {}, on(dev0));
  const Plan plan = make_plan(g.graph, pair(), g.everything(), {});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_TEST(share.kernels.size() == 2U);
  for (std::uint32_t i = 0; i < 6; ++i) {
    BOOST_TEST(std::get<double>(share.kernels[share.items[i].kernel].attrs.at(0)) ==
               (share.items[i].unit.value < 3 ? 100 : 200));
  }
}

// relu of two sizes and scale take turns
BOOST_AUTO_TEST_CASE(ops_of_few_classes_have_one_kernel_a_class_with_the_time_that_it_takes) {
  SmallGraph g;
  const OpId small = g.work("small", 100, {}, on(dev0), 8);
  const OpId large = g.work("large", 100, {}, on(dev0), 800);
  for (int i = 0; i < 4; ++i) {
    g.op("relu", "relu", {small}, on(dev0));
    g.op("relu", "relu", {large}, on(dev0));
    g.op("scale", "scale", {large}, on(dev0), {2.0});
  }
  const Machine machine = pair();
  const Plan plan = make_plan(g.graph, machine, g.everything(), {.needs_costs = true});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_TEST(share.kernels.size() == 5U);
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    const OpId op = plan.units[share.items[i].unit.index()].op;
    const Share::Kernel& kernel = share.kernels[share.items[i].kernel];
    BOOST_TEST((kernel.kind == g.graph.kind_id(op)));
    BOOST_TEST((kernel.attrs == g.graph.attrs(op)));
    BOOST_TEST(
        (kernel.expected == Roofline(machine).op(DeviceId{0}, g.graph, g.graph.op_class(op))));
  }
}

// x on dev0 ─┬─ y on dev1
//            ├─ z on dev1 (which waits for y, too)
//            └─ v and w on dev0
BOOST_AUTO_TEST_CASE(what_several_items_of_another_share_wait_for_is_one_arrival_there) {
  SmallGraph g;
  const Machine machine = neighbours();
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId y = g.work("y", 100, {x}, on(dev1));
  g.work("v", 100, {x}, on(dev0));
  g.work("z", 100, {x, y}, on(dev1));
  g.work("w", 100, {x}, on(dev0));
  const Plan plan = make_plan(g.graph, machine, g.everything(), {});
  const PlanView view(g.graph, machine, plan);
  const Share& here = view.share(view.find("x on dev0"));
  const Share& there = view.share(view.find("y on dev1"));
  const std::vector<ItemRef> wanted{{ResourceId{1}, there.size()},
                                    view.item(view.find("v on dev0")),
                                    view.item(view.find("w on dev0"))};
  BOOST_TEST(
      (successors_of(ResourceId{0}, here, view.item(view.find("x on dev0")).item) == wanted));
  BOOST_TEST(here.successors.size() == 3U);
  BOOST_TEST(here.arrivals.empty());
  BOOST_REQUIRE(there.first_arrival.size() == 2U);
  BOOST_TEST(items_of_arrival(there, there.size()) == (std::vector<std::uint32_t>{0, 1}));
  BOOST_TEST(waits_for(there) == (std::vector<std::uint32_t>{1, 2}));
}

// x0 and x1 on dev0 ─┬─ y on dev1    x2 on dev0 ─── w on dev1
//                    └─ z on dev1
BOOST_AUTO_TEST_CASE(each_op_that_several_items_elsewhere_wait_for_is_an_arrival_of_its_own) {
  SmallGraph g;
  const Machine machine = neighbours();
  const OpId x0 = g.work("x0", 100, {}, on(dev0));
  const OpId x1 = g.work("x1", 100, {}, on(dev0));
  const OpId x2 = g.work("x2", 100, {}, on(dev0));
  g.work("y", 100, {x0, x1}, on(dev1));
  g.work("z", 100, {x0, x1}, on(dev1));
  g.work("w", 100, {x2}, on(dev1));
  const Plan plan = make_plan(g.graph, machine, g.everything(), {});
  const PlanView view(g.graph, machine, plan);
  const Share& here = view.share(view.find("x0 on dev0"));
  const Share& there = view.share(view.find("y on dev1"));
  BOOST_REQUIRE(there.size() == 3U);
  BOOST_REQUIRE(there.first_arrival.size() == 3U);
  BOOST_TEST((successors(ResourceId{0}, here) ==
              std::vector<ItemRef>{
                  {ResourceId{1}, 3}, {ResourceId{1}, 4}, view.item(view.find("w on dev1"))}));
  BOOST_TEST(items_of_arrival(there, 3) == (std::vector<std::uint32_t>{0, 1}));
  BOOST_TEST(items_of_arrival(there, 4) == (std::vector<std::uint32_t>{0, 1}));
}

// x on dev0 ─── y on dev1
BOOST_AUTO_TEST_CASE(a_tensor_that_an_item_elsewhere_reads_twice_sends_one_notice_for_both) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  g.work("y", 100, {x, x}, on(dev1));
  const Plan plan = make_plan(g.graph, neighbours(), g.everything(), {});
  const Window& window = plan.windows[0];
  BOOST_REQUIRE(window.shares.size() == 2U);
  const Share& there = window.shares[1].second;
  BOOST_TEST((successors(window.shares[0].first, window.shares[0].second) ==
              std::vector{ItemRef{ResourceId{1}, there.size()}}));
  BOOST_TEST(items_of_arrival(there, 1) == (std::vector<std::uint32_t>{0, 0}));
  BOOST_TEST(there.items[0].waits_for == 2U);
}

// x on dev0 ─┬─ y on dev0 ─┬─ z on dev0
//            ├─ v on dev1 ─┤
//            └─────────────┴─ w on dev0     p on dev0, which nothing reads
BOOST_AUTO_TEST_CASE(a_replica_is_private_where_its_maker_and_all_its_readers_are_one_resource) {
  SmallGraph g;
  const Machine machine = neighbours();
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId y = g.work("y", 100, {x}, on(dev0));
  g.work("z", 100, {y}, on(dev0));
  g.work("p", 100, {}, on(dev0));
  const OpId v = g.work("v", 100, {x}, on(dev1));
  g.work("w", 100, {x, y, v}, on(dev0));
  const Plan plan = make_plan(g.graph, machine, g.everything(), {});
  const PlanView view(g.graph, machine, plan);
  const auto is_private = [&](const std::string& unit) {
    return plan.replicas[view.find(unit).index()].is_private;
  };
  BOOST_TEST(!is_private("x on dev0"));  // v reads it, between y and w
  BOOST_TEST(is_private("y on dev0"));
  BOOST_TEST(is_private("p on dev0"));
  BOOST_TEST(!is_private("v on dev1"));  // read by dev0 only, which didn't make it
}

// x on dev0 ── wait ── y on dev0
// v on dev0 ── wait ── w on dev1, with the same memory
//        └──── wait ── wait ── u on dev0
BOOST_AUTO_TEST_CASE(a_replica_that_another_device_reads_in_a_later_window_is_not_private) {
  SmallGraph g;
  const Machine machine = neighbours();
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId v = g.work("v", 100, {}, on(dev0));
  g.work("y", 100, {x}, on(dev0));
  g.work("w", 100, {v}, on(dev1));
  g.work("u", 100, {v}, on(dev0));
  const Plan plan =
      make_plan(g.graph, machine, g.scenario({"x", "v", "wait", "y", "w", "wait", "u"}), {});
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST(plan.replicas[view.find("x on dev0").index()].is_private);
  BOOST_TEST(!plan.replicas[view.find("v on dev0").index()].is_private);
}

// x on dev0 ── wait ── y on dev1, in another memory: the link reads x
BOOST_AUTO_TEST_CASE(a_replica_that_is_moved_in_a_later_window_is_not_private) {
  SmallGraph g;
  const Machine machine = pair();
  const OpId x = g.work("x", 100, {}, on(dev0));
  g.work("y", 100, {x}, on(dev1));
  const Plan plan = make_plan(g.graph, machine, g.scenario({"x", "wait", "y"}), {});
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST(!plan.replicas[view.find("x on dev0").index()].is_private);
}

// x on dev0 ── link ── y on dev1:  the link reads x, and dev1 what the link has made
BOOST_AUTO_TEST_CASE(what_is_moved_is_not_private) {
  SmallGraph g;
  const Machine machine = pair();
  const OpId x = g.work("x", 100, {}, on(dev0));
  g.work("y", 100, {x}, on(dev1));
  const Plan plan = make_plan(g.graph, machine, g.everything(), {});
  const PlanView view(g.graph, machine, plan);
  BOOST_TEST(!plan.replicas[view.find("x on dev0").index()].is_private);
  BOOST_TEST(!plan.replicas[view.find("x over link").index()].is_private);
}

// a ─── b ─┬─ c    two of 64 bytes at once, and c of another type, which is kept
//          └──┴─ d
BOOST_AUTO_TEST_CASE(buffers_are_what_is_in_ram_at_once_in_graph_order) {
  SmallGraph g;
  const OpId a = g.work("a", 1, {}, on(dev0), 64);
  const OpId b = g.work("b", 1, {a}, on(dev0), 64);
  const OpId c = g.work("c", 1, {b}, on(dev0), 24);
  g.work("d", 1, {b, c}, on(dev0), 64);
  const PlanOptions options{.ram_bytes = 1 << 20};
  const Plan plan = make_plan(g.graph, pair(), g.everything(), options);
  BOOST_REQUIRE(g.graph.types().size() == 2U);
  // a and b, then b and d; never three.
  BOOST_TEST(plan.buffers == (std::vector<std::uint64_t>{2, 1}));
}

// a ─── b ─── c ─── d
BOOST_AUTO_TEST_CASE(
    a_result_that_is_kept_for_comparison_needs_its_buffer_after_its_last_reader_too) {
  SmallGraph g;
  OpId last = g.work("a", 1, {}, on(dev0), 64);
  for (const char* name : {"b", "c", "d"}) last = g.work(name, 1, {last}, on(dev0), 64);
  PlanOptions options{.ram_bytes = 1 << 20};
  BOOST_TEST(make_plan(g.graph, pair(), g.everything(), options).buffers ==
             std::vector<std::uint64_t>{2});
  options.compare_results = true;
  BOOST_TEST(make_plan(g.graph, pair(), g.everything(), options).buffers ==
             std::vector<std::uint64_t>{4});
}

// Four of one type that nothing reads are kept, or their copies.
BOOST_AUTO_TEST_CASE(results_that_are_kept_and_replicas_in_other_memories_need_buffers_too) {
  SmallGraph g;
  for (int i = 0; i < 4; ++i) g.work("x", 1, {}, on(dev0));
  const PlanOptions options{.ram_bytes = 1 << 20};
  Machine machine = pair();
  BOOST_TEST(make_plan(g.graph, machine, g.everything(), options).buffers ==
             std::vector<std::uint64_t>{4});
  for (std::size_t i = 0; i < 4; ++i) g.copy("copy", OpId::at(i), to(MemoryId{1}));
  // The first is there beside its copy, then goes; so does each after it.
  BOOST_TEST(make_plan(g.graph, machine, g.everything(), options).buffers ==
             std::vector<std::uint64_t>{5});
  machine.memories[1].kind = MemoryKind::storage;
  BOOST_TEST(make_plan(g.graph, machine, g.everything(), options).buffers ==
             std::vector<std::uint64_t>{4});
  BOOST_TEST(make_plan(g.graph, machine, g.everything(), {}).buffers.empty());  // simulated
}

// 20,000 ops that nobody reads, then a chain of four, which is to come first. Of the chain two
// tensors are there at once, and what nobody reads stays.
BOOST_AUTO_TEST_CASE(a_large_plan_is_put_in_order_and_fitted_into_memory_too) {
  constexpr std::uint64_t many = 20'000;
  SmallGraph g;
  g.graph.begin_group("many", true);
  const OpTemplate op_template{.kind = g.graph.kinds().find("work"),
                               .placement = on(dev0),
                               .attrs = {1.0},
                               .declared = testing::of_bytes(8)};
  for (std::uint64_t i = 0; i < many; ++i) g.graph.append(g.graph.add_template(op_template), {});
  OpId last = g.work("a", 1, {}, on(dev0));
  for (const char* name : {"b", "c", "d"}) last = g.work(name, 1, {last}, on(dev0));
  Machine machine = pair();
  machine.memories[0].size_bytes = (many + 2) * 8;
  const PlanOptions options{.ram_bytes = 1 << 30};
  const Plan plan = make_plan(g.graph, machine, g.everything(), options);
  BOOST_TEST(plan.buffers == std::vector<std::uint64_t>{many + 2});
  const Share& share = plan.windows[0].shares[0].second;
  BOOST_REQUIRE(share.size() == many + 4);
  BOOST_TEST((share.items[0].unit == UnitId::at(many)));
  BOOST_TEST((share.items[1].unit == UnitId::at(many + 1)));
  BOOST_TEST((share.items[2].unit == UnitId::at(many + 2)));
  BOOST_TEST((share.items[3].unit == UnitId::at(0)));
  machine.memories[0].size_bytes -= 8;
  expect_error(ErrorKind::usage, "'b' on dev0 needs 8 B",
               [&] { make_plan(g.graph, machine, g.everything(), options); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
