#include "core/plan/placement_policy.hpp"

#include "core/cost/roofline.hpp"
#include "core/plan/planner.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(placement_policy)
namespace {

using testing::expect_error;
using testing::plan_by_rates;
using testing::SmallGraph;

BOOST_AUTO_TEST_CASE(every_policy_is_found_by_its_name) {
  std::set<std::string_view> names;
  for (const PlacementPolicy& policy : placement_policies()) {
    BOOST_TEST(names.insert(policy.name).second);
    BOOST_TEST(&find_placement_policy(policy.name) == &policy);
  }
  BOOST_TEST(names.contains(PlanOptions{}.placement_policy));
}

BOOST_AUTO_TEST_CASE(the_options_of_a_plan_choose_the_policy) {
  SmallGraph g;
  g.work("x", 1);
  const Machine machine = testing::two_devices();
  plan_by_rates(g.graph, machine, g.everything(), {.placement_policy = "heft"});
  expect_error(ErrorKind::usage, "there is no placement policy 'magic'; choose one of: heft", [&] {
    plan_by_rates(g.graph, machine, g.everything(), {.placement_policy = "magic"});
  });
}

BOOST_AUTO_TEST_CASE(every_policy_keeps_what_is_given_and_chooses_devices_that_can_run_an_op) {
  for (const PlacementPolicy& policy : placement_policies()) {
    for (std::uint64_t seed = 0; seed < testing::usual_seeds(100); ++seed) {
      BOOST_TEST_CONTEXT(policy.name << ", seed " << seed) {
        const testing::RandomCase c(seed);
        const Roofline cost(c.machine);
        Router router(c.machine);
        Reachability reachability(c.machine);
        std::vector<OpId> ops;
        for (std::size_t i = 0; i < c.graph.size(); ++i) ops.push_back(OpId::at(i));
        // Each kind lacks a device, where there are several.
        const auto can_run = [&](DeviceId d, OpId op) {
          const std::size_t devices = c.machine.devices.size();
          return devices == 1 || d.index() != c.graph.kind_id(op).index() % devices;
        };
        const auto given = [&](OpId op) -> const Placement& { return c.graph.placement(op); };
        const std::vector<DeviceId> placed =
            policy.place({.graph = c.graph,
                          .machine = c.machine,
                          .cost = cost,
                          .router = router,
                          .ops = ops,
                          .placement = given,
                          .home = [](OpId) { return MemoryId::none(); },
                          .can_run = can_run,
                          .reachability = reachability});
        BOOST_REQUIRE(placed.size() == ops.size());
        for (std::size_t i = 0; i < ops.size(); ++i) {
          const Placement& by_user = given(ops[i]);
          if (by_user.device || by_user.memory) {
            BOOST_TEST((placed[i] == by_user.device));
          } else {
            BOOST_REQUIRE(static_cast<bool>(placed[i]));
            BOOST_TEST(can_run(placed[i], ops[i]));
          }
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
