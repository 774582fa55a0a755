#include "core/plan/planner.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/plan_view.hpp"
#include "tests/support/share_view.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(arrivals)
namespace {

using testing::on;
using testing::plan_by_rates;
using testing::PlanView;
using testing::SmallGraph;
using testing::successors;
using testing::successors_of;
using testing::two_devices_on_one_memory;
using testing::waits_for;

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};

std::vector<std::uint32_t> items_of_arrival(const Share& share, std::uint32_t item) {
  const auto items = share.items_of_arrival(item - share.size());
  return {items.begin(), items.end()};
}

// x on dev0 ─┬─ y on dev1
//            ├─ z on dev1 (which waits for y, too)
//            └─ v and w on dev0
BOOST_AUTO_TEST_CASE(several_items_that_wait_for_one_op_elsewhere_share_an_arrival) {
  SmallGraph g;
  const Machine machine = two_devices_on_one_memory();
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId y = g.work("y", 100, {x}, on(dev1));
  g.work("v", 100, {x}, on(dev0));
  g.work("z", 100, {x, y}, on(dev1));
  g.work("w", 100, {x}, on(dev0));
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
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
BOOST_AUTO_TEST_CASE(each_op_that_several_items_elsewhere_wait_for_has_its_own_arrival) {
  SmallGraph g;
  const Machine machine = two_devices_on_one_memory();
  const OpId x0 = g.work("x0", 100, {}, on(dev0));
  const OpId x1 = g.work("x1", 100, {}, on(dev0));
  const OpId x2 = g.work("x2", 100, {}, on(dev0));
  g.work("y", 100, {x0, x1}, on(dev1));
  g.work("z", 100, {x0, x1}, on(dev1));
  g.work("w", 100, {x2}, on(dev1));
  const Plan plan = plan_by_rates(g.graph, machine, g.everything(), {});
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
  const Plan plan = plan_by_rates(g.graph, two_devices_on_one_memory(), g.everything(), {});
  const Window& window = plan.windows[0];
  BOOST_REQUIRE(window.shares.size() == 2U);
  const Share& there = window.shares[1].second;
  BOOST_TEST((successors(window.shares[0].first, window.shares[0].second) ==
              std::vector{ItemRef{ResourceId{1}, there.size()}}));
  BOOST_TEST(items_of_arrival(there, 1) == (std::vector<std::uint32_t>{0, 0}));
  BOOST_TEST(there.items[0].waits_for == 2U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
