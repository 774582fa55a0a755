#include "core/plan/rest.hpp"

#include "core/plan/planner.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(rest_of_a_plan)
namespace {

using testing::on;
using testing::plan_by_rates;
using testing::SmallGraph;
using Names = std::vector<std::string>;

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};
const std::vector<bool> without_n1 = {false, true};

// dev0 on node n0 and dev1 on n1.
Machine two_nodes() {
  Machine machine = testing::two_devices({});
  machine.nodes = {"n0", "n1"};
  for (std::size_t i = 0; i < 2; ++i) {
    machine.devices[i].node = machine.memories[i].node = NodeId::at(i);
  }
  return machine;
}

// A run that has ended early.
class Ended {
 public:
  Ended(const SmallGraph& g, const Scenario& scenario, PlanOptions options = {})
      : graph_(g.graph),
        scenario_(scenario),
        options_(std::move(options)),
        plan_(plan_by_rates(graph_, machine_, scenario, options_)) {}

  // The ops of these names have finished, and transfers of their results where `moved`.
  Ended& finish(std::initializer_list<std::string_view> names, bool moved = false) {
    for (Window& window : plan_.windows) {
      for (auto& [resource, share] : window.shares) {
        for (Share::Item& item : share.items) {
          if (!item.unit || share.size() == 0) continue;
          if (&item == &share.items.back()) continue;
          const Unit& unit = plan_.units[item.unit.index()];
          const bool is_named =
              std::find(names.begin(), names.end(), graph_.name(unit.op)) != names.end();
          if (is_named && unit.transfer == moved) item.start = item.end = Instant{Duration{1}};
        }
      }
    }
    return *this;
  }

  Remains remains() const { return find_remains(machine_, plan_, plan_.windows, {}, without_n1); }
  Names made_again() const {
    Names names;
    const Goal goal = find_goal(graph_, scenario_, options_.saved);
    const Rest rest = find_rest(graph_, goal, existing_ops(graph_, plan_, remains()));
    for (const WindowOps& window : rest.windows) {
      for (const OpId op : window.ops) names.push_back(graph_.name(op));
    }
    return names;
  }
  std::vector<ReplicaId> needed() const {
    const Remains left = remains();
    const Goal goal = find_goal(graph_, scenario_, {});
    const Rest rest = find_rest(graph_, goal, existing_ops(graph_, plan_, left));
    return needed_replicas(graph_, rest, plan_, left);
  }
  OpId op_of(ReplicaId replica) const { return plan_.units[replica.index()].op; }
  // Plans the rest, and returns the plan.
  const Plan& replan() {
    const Remains left = remains();
    plan_.windows.clear();
    options_.cost = default_cost_model(machine_);
    options_.lost_nodes = without_n1;
    const Goal goal = find_goal(graph_, scenario_, options_.saved);
    plan_rest(graph_, machine_, scenario_, goal, plan_, left, options_);
    return plan_;
  }
  const Graph& graph() const { return graph_; }

 private:
  const Machine machine_ = two_nodes();
  const Graph& graph_;
  const Scenario scenario_;
  PlanOptions options_;
  Plan plan_;
};

// x and y on n0, z on n1
struct Chain : SmallGraph {
  OpId x = work("x", 100, {}, on(dev0));
  OpId y = work("y", 100, {x}, on(dev0));
  OpId z = work("z", 100, {y}, on(dev1));
};

BOOST_AUTO_TEST_CASE(what_is_held_by_a_living_node_is_not_made_again) {
  const Chain g;
  Ended run(g, g.everything());
  run.finish({"x", "y"});
  BOOST_TEST(run.made_again() == (Names{"z"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_its_last_reader_has_freed_is_made_again_with_all_that_it_needs) {
  const Chain g;
  Ended run(g, g.everything());
  run.finish({"x", "y"}).finish({"y"}, true);  // y is on n1 only, and x was read
  BOOST_TEST(run.made_again() == (Names{"x", "y", "z"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_nobody_reads_and_a_lost_node_held_is_made_again) {
  const Chain g;
  Ended run(g, g.everything());
  run.finish({"x", "y", "z"}).finish({"y"}, true);
  BOOST_TEST(run.made_again() == (Names{"x", "y", "z"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_is_made_again_if_all_that_is_wanted_is_there) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev1));
  g.work("y", 100, {x}, on(dev0));
  Ended run(g, g.everything());
  run.finish({"x", "y"}).finish({"x"}, true);
  BOOST_TEST(run.made_again().empty());
}

BOOST_AUTO_TEST_CASE(a_result_that_is_only_compared_is_not_made_again_and_one_to_be_saved_is) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev1));
  g.work("y", 100, {x}, on(dev0));
  Ended compared(g, g.everything(), {.compare_results = true});
  compared.finish({"x", "y"}).finish({"x"}, true);
  BOOST_TEST(compared.made_again().empty());
  BOOST_TEST(compared.replan().results.size() == 1U);
  Ended saved(g, g.everything(), {.saved = {x}});
  saved.finish({"x", "y"}).finish({"x"}, true);
  BOOST_TEST(saved.made_again() == (Names{"x"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_result_to_be_saved_that_is_in_another_memory_is_taken_from_there) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev1));
  g.work("y", 100, {x}, on(dev0));
  Ended run(g, g.everything(), {.saved = {x}});
  const Plan& plan = run.finish({"x"}).finish({"x"}, true).replan();
  BOOST_REQUIRE(plan.results.size() == 2U);
  BOOST_TEST((plan.results[0].op == x));
  BOOST_TEST((plan.replicas[plan.results[0].replica.index()].memory == MemoryId{0}));
}

BOOST_AUTO_TEST_CASE(a_further_output_that_is_made_again_stays_a_result) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId half = g.op("half", "half", {x}, on(dev0));
  const OpId sum{half.value + 1};
  g.work("y", 100, {half}, on(dev1));
  Ended run(g, g.everything(), {.saved = {sum}});
  const Plan& plan =
      run.finish({"x", "half", "half.sum", "half.twice", "y"}).finish({"half"}, true).replan();
  const auto is_sum = [&](const Plan::Result& r) { return r.op == sum && r.is_kept; };
  BOOST_REQUIRE(std::count_if(plan.results.begin(), plan.results.end(), is_sum) == 1);
  const auto kept = std::find_if(plan.results.begin(), plan.results.end(), is_sum);
  BOOST_TEST((maker_of(kept->replica) >= plan.windows[0].first));
}

BOOST_AUTO_TEST_CASE(what_was_prepared_is_prepared_again) {
  const Chain g;
  Ended run(g, g.scenario({"y", "z"}));
  const Plan& plan = run.replan();
  BOOST_REQUIRE(plan.windows.size() == 2U);
  BOOST_TEST(!plan.windows[0].timed);
  BOOST_TEST(plan.windows[0].items == 1U);
  BOOST_TEST(plan.windows[1].timed);
}

BOOST_AUTO_TEST_CASE(ops_placed_on_a_lost_node_go_to_others_and_the_rest_stays) {
  const Chain g;
  Ended run(g, g.everything());
  const Plan& plan = run.finish({"x", "y"}).replan();
  BOOST_REQUIRE(plan.windows.size() == 1U);
  BOOST_TEST(plan.windows[0].number == 0U);
  BOOST_REQUIRE(plan.windows[0].items == 1U);
  const Unit& unit = plan.units[plan.windows[0].first.index()];
  BOOST_TEST((unit.op == g.z));
  BOOST_TEST((unit.ref.resource == ResourceId{0}));
}

BOOST_AUTO_TEST_CASE(waits_between_what_is_left_are_kept) {
  const Chain g;
  Scenario scenario = g.everything();
  scenario.steps.insert(scenario.steps.end() - 1, Step{});  // before z
  Ended run(g, scenario);
  const Plan& plan = run.replan();
  BOOST_REQUIRE(plan.windows.size() == 2U);
  BOOST_TEST(plan.windows[1].waits);
  BOOST_TEST((plan.units[plan.windows[1].first.index()].op != g.x));
}

BOOST_AUTO_TEST_CASE(a_tensor_is_needed_to_go_on_if_it_is_wanted_or_is_still_to_be_read) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId y = g.work("y", 100, {x}, on(dev0));
  g.work("z", 100, {y}, on(dev0));
  const OpId end = g.work("end", 100, {x}, on(dev0));
  Ended run(g, g.everything());
  run.finish({"x", "y", "end"});
  std::vector<OpId> needed;
  for (const ReplicaId replica : run.needed()) needed.push_back(run.op_of(replica));
  BOOST_TEST((needed == std::vector<OpId>{y, end}));
}

BOOST_AUTO_TEST_CASE(readers_are_counted_anew) {
  const Chain g;
  Ended run(g, g.everything());
  const Plan& plan = run.finish({"x", "y"}).replan();
  // x, y, the transfer of y, z, and z once more
  BOOST_TEST(plan.replicas[0].readers == 0U);
  BOOST_TEST(plan.replicas[1].readers == 1U);
  const UnitId made = plan.windows[0].first;
  BOOST_TEST(plan.replicas[made.index()].readers == 1U);  // it is kept
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
