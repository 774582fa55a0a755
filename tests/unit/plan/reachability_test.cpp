// Placement on machines whose memories aren't all joined by links.
#include "core/plan/reachability.hpp"

#include "core/base/random.hpp"
#include "core/machine/route.hpp"
#include "core/plan/planner.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/plan_view.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(reachability)
namespace {

using testing::expect_error;
using testing::on;
using testing::plan_by_rates;
using testing::PlanView;
using testing::SmallGraph;
using testing::SmallMachine;
using testing::to;
using Names = std::vector<std::string>;

constexpr DeviceId near0{0};
constexpr DeviceId near1{1};
constexpr DeviceId far{2};
constexpr MemoryId lonely{3};

// near0 ──link── near1      far      and memory `lonely` without a device
Machine two_islands() {
  SmallMachine m;
  const MemoryId a = m.memory("a");
  const MemoryId b = m.memory("b");
  m.device("near0", a);
  m.device("near1", b);
  m.device("far", m.memory("c"));
  m.memory("lonely");
  m.link("link", a, b);
  return m.machine;
}

Names units(const SmallGraph& g, const Scenario& scenario, const PlanOptions& options = {}) {
  const Machine machine = two_islands();
  const Plan plan = plan_by_rates(g.graph, machine, scenario, options);
  return PlanView(g.graph, machine, plan).units();
}
Names units(const SmallGraph& g, const PlanOptions& options = {}) {
  return units(g, g.everything(), options);
}

// An op of kind "zeros" or "work".
PlanOptions zeros_only_on(DeviceId device) {
  return {.has_kernel = [=](DeviceId d, const OpKind& kind) {
    return kind.name != "zeros" || d == device;
  }};
}

// x ── y on far
BOOST_AUTO_TEST_CASE(an_op_is_placed_where_its_reader_can_be_reached) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  g.work("y", 100, {x}, on(far));
  BOOST_TEST(units(g) == (Names{"x on far", "y on far"}), boost::test_tools::per_element());
  BOOST_TEST(units(g, g.scenario({"y"})) == (Names{"x on far", "y on far"}),
             boost::test_tools::per_element());
}

// x ─┬─ y ── z on far        alone
// w ─┘
BOOST_AUTO_TEST_CASE(ops_are_placed_where_a_later_reader_of_their_readers_can_be_reached) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  const OpId w = g.work("w", 100);
  const OpId y = g.work("y", 100, {x, w});
  g.work("z", 100, {y}, on(far));
  g.work("alone", 100);
  BOOST_TEST(units(g) == (Names{"x on far", "w on far", "y on far", "z on far", "alone on near0"}),
             boost::test_tools::per_element());
}

// x ── copy to c
BOOST_AUTO_TEST_CASE(an_op_is_placed_where_a_copy_of_it_can_reach_its_memory) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  g.copy("copy", x, to(MemoryId{2}));
  for (const Scenario& scenario : {g.everything(), g.scenario({"copy"})}) {
    BOOST_TEST(units(g, scenario) == (Names{"x on far", "copy on far"}),
               boost::test_tools::per_element());
  }
}

// x ── y on far, which can't make x; near0 and the neighbour of far can
BOOST_AUTO_TEST_CASE(what_is_prepared_is_placed_where_its_reader_can_be_reached) {
  SmallGraph g;
  const OpId x = g.op("x", "zeros", {}, {}, {}, testing::of_bytes(8));
  g.work("y", 100, {x}, on(far));
  Machine machine = two_islands();
  machine.devices.push_back({.name = "neighbour", .memory = MemoryId{2}, .flops = 1e9});
  const PlanOptions options{.has_kernel = [](DeviceId d, const OpKind& kind) {
    return kind.name != "zeros" || d != far;
  }};
  for (const Scenario& scenario : {g.everything(), g.scenario({"y"})}) {
    const Plan plan = plan_by_rates(g.graph, machine, scenario, options);
    BOOST_TEST(PlanView(g.graph, machine, plan).units() == (Names{"x on neighbour", "y on far"}),
               boost::test_tools::per_element());
  }
}

// x ─┬─ z     x and w have different kernels: only near0 and near1 together have both
// w ─┘
BOOST_AUTO_TEST_CASE(connected_ops_are_placed_on_memories_that_links_join) {
  SmallGraph g;
  const OpId x = g.work("x", 100);
  const OpId w = g.op("w", "zeros", {}, {}, {}, testing::of_bytes(8));
  g.work("z", 100, {x, w});
  g.work("alone", 100);
  const PlanOptions options = zeros_only_on(near1);
  for (const std::string& name : units(g, options)) {
    if (!name.starts_with("alone")) BOOST_TEST(!name.ends_with("far"), name);
  }
  // Without the kernel on near1 the three go to far, though near0 and near1 are free.
  BOOST_TEST(
      units(g, zeros_only_on(far)) == (Names{"x on far", "w on far", "z on far", "alone on near0"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(ops_that_are_not_connected_use_all_devices) {
  SmallGraph g;
  for (int i = 0; i < 3; ++i) {
    const OpId x = g.work("x", 100, {}, {}, 800);
    g.work("y", 100, {x});
  }
  BOOST_TEST(units(g) == (Names{"x on near0", "y on near0", "x on near1", "y on near1", "x on far",
                                "y on far"}),
             boost::test_tools::per_element());
}

// x on near0 ── m ── y on far
BOOST_AUTO_TEST_CASE(an_op_between_two_islands_is_refused_by_the_names_of_both_ends) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(near0));
  g.graph.begin_group("m", false, {"run.yaml", 6, 3});
  const OpId m = g.graph.append({.kind = g.graph.kinds().find("relu"), .inputs = std::span(&x, 1)});
  g.work("y", 100, {m}, on(far));
  expect_error(ErrorKind::usage,
               "run.yaml:6:3: no placement exists for 'm': directly or through other ops it is "
               "connected to 'x' in a and to 'y' in c, and there is no route between the two; add "
               "a link between them to the machine, or place the op elsewhere",
               [&] { units(g); });
}

BOOST_AUTO_TEST_CASE(an_op_whose_readers_island_has_no_kernel_for_it_is_refused) {
  SmallGraph g;
  const OpId x = g.op("x", "zeros", {}, {}, {}, testing::of_bytes(8));
  const OpId y = g.work("y", 100, {x});
  g.work("z", 100, {y}, on(far));
  expect_error(ErrorKind::usage,
               "no placement exists for 'x': directly or through other ops it is connected to 'z' "
               "in c, and no device with a route to there has a kernel for 'zeros'",
               [&] { units(g, zeros_only_on(near0)); });
  SmallGraph copied;
  copied.copy("copy", copied.work("x", 100), to(lonely));
  expect_error(ErrorKind::usage, "is connected to 'copy' in lonely, and no device with a route",
               [&] { units(copied); });
}

BOOST_AUTO_TEST_CASE(connected_ops_whose_kernels_no_island_has_all_are_refused) {
  SmallGraph g;
  const OpId x = g.op("x", "zeros", {}, {}, {}, testing::of_bytes(8));
  g.op("y", "relu", {x});
  const PlanOptions options{.has_kernel = [](DeviceId d, const OpKind& kind) {
    return kind.name == "zeros" ? d == far : d != far;
  }};
  expect_error(ErrorKind::usage,
               "no placement exists for 'x' and the ops that it is connected to: no devices joined "
               "by links have kernels for all of relu, zeros",
               [&] { units(g, options); });
}

// Tries every device for each op without a placement.
bool has_placement(const Graph& graph, const Machine& machine, Router& router,
                   std::vector<MemoryId>& memories) {
  const std::size_t i = memories.size();
  if (i == graph.size()) return true;
  const OpId op = OpId::at(i);
  for (const Device& device : machine.devices) {
    const Placement& given = graph.placement(op);
    if (given.device && &machine.device(given.device) != &device) continue;
    bool is_reached = true;
    for (const OpId input : graph.inputs(op)) {
      is_reached &= router.route(memories[input.index()], device.memory) != nullptr;
    }
    if (!is_reached) continue;
    memories.push_back(device.memory);
    if (has_placement(graph, machine, router, memories)) return true;
    memories.pop_back();
  }
  return false;
}

// A third of the ops is placed; four devices on two or three islands.
BOOST_AUTO_TEST_CASE(a_plan_is_made_exactly_where_a_placement_exists) {
  int made = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      SmallMachine m;
      for (int d = 0; d < 4; ++d) m.device("d" + std::to_string(d), m.memory("m"));
      m.link("first", MemoryId{0}, MemoryId{1});
      if (random.below(2) == 0) m.link("second", MemoryId{2}, MemoryId{3});
      SmallGraph g;
      const std::size_t ops = 1 + random.below(7);
      for (std::size_t i = 0; i < ops; ++i) {
        std::vector<OpId> inputs;
        for (std::size_t n = random.below(3); i > 0 && n > 0; --n) {
          inputs.push_back(OpId::at(random.below(i)));
        }
        const Placement given =
            random.below(6) < 2 ? on(DeviceId::at(random.below(4))) : Placement{};
        g.work("op" + std::to_string(i), 100, std::move(inputs), given);
      }
      Scenario scenario = g.everything();
      if (random.below(2) == 0) scenario.steps.erase(scenario.steps.begin());
      Router router(m.machine);
      std::vector<MemoryId> memories;
      const bool can_be = has_placement(g.graph, m.machine, router, memories);
      if (can_be) {
        BOOST_CHECK_NO_THROW(plan_by_rates(g.graph, m.machine, scenario, {}));
        ++made;
      } else if (scenario.steps.size() == ops) {
        BOOST_CHECK_THROW(plan_by_rates(g.graph, m.machine, scenario, {}), Error);
        ++refused;
      }
    }
  }
  BOOST_TEST(made > 50);
  BOOST_TEST(refused > 20);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
