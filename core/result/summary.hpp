// From the records of a run to its report: the same for real and simulated runs.
#pragma once

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/run/coordinator_logic.hpp"
#include "core/trace/report.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

// What the actors hand back at the end.
struct RunResult {
  Ending ending = Ending::done;
  CoordinatorLogic::Failure failure = {};
  std::optional<Instant> origin;
  Duration took{0};       // real time
  ResourceShares shares;  // with what became of their items
};

// "run[3] on gpu0", "run[3] over pcie0"
std::string unit_name(const Graph& graph, const Machine& machine, const Plan& plan, UnitId unit);

// The tensors that must be there before the unit starts: "'x', 'y'", or "nothing"; what else it
// waits for makes room in its memory.
std::string unit_needs(const Graph& graph, const Plan& plan, UnitId unit);

// Why the run failed, in words; empty where it didn't.
std::string describe(const CoordinatorLogic::Failure& failure, const Graph& graph,
                     const Machine& machine, const Plan& plan);

// Counts, times, bounds (design.md, Words), utilisation and timeline of one scenario. The lower
// bound is taken over what finished, with the times it took. Puts the shares back into the plan.
ScenarioReport summarize(const Graph& graph, const Machine& machine, Plan& plan,
                         const std::string& name, RunResult result);

}  // namespace troupe
