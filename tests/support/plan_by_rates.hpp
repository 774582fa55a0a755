// Plans in which ops and transfers take the times that follow from the machine's rates, as they do
// in a run.
#pragma once

#include "core/cost/cost_model.hpp"
#include "core/plan/planner.hpp"

namespace troupe::testing {

inline Plan plan_by_rates(const Graph& graph, const Machine& machine, const Scenario& scenario,
                          PlanOptions options) {
  options.cost = default_cost_model(machine);
  return make_plan(graph, machine, scenario, options);
}

}  // namespace troupe::testing
