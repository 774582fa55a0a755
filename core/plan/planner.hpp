// From a graph and a scenario to a plan.
#pragma once

#include "core/plan/plan.hpp"
#include "core/plan/plan_options.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

// Places ops (as given, else by the options' placement policy), inserts a transfer wherever
// an op reads a tensor that its device's memory doesn't hold, and splits the outcome into shares.
// Blocks; for a large scenario it takes a second thread for a part, where the host has one.
//
// Throws a usage Error that names op and device (with the op's place) where a device lacks the
// kernel, there is no route, the scenario lists something before what it needs, or a memory or the
// host can't hold what must be in it at once when ops run in graph order (needed and available are
// named).
Plan make_plan(const Graph& graph, const Machine& machine, const Scenario& scenario,
               const PlanOptions& options);

// A window of a graph that is appended while it runs.
struct PlannedWindow {
  Window window;
  std::vector<ReplicaSpec> replicas;  // what its units make, in their order
  // Each of these has one reader more; may be there several times.
  std::vector<ReplicaId> read_again;
  // What this window makes and has one reader besides those known: whoever runs it, who lets go of
  // it when the window is done and nothing that comes later reads it.
  struct Hold {
    OpId op;
    ReplicaId replica;
  };
  std::vector<Hold> holds;
};

// Plans a graph window by window while earlier windows run. What waits for an earlier window is a
// late edge in a share of the one it waits for (share.hpp). Priorities and automatic placement know
// nothing of what is still to come, and nothing is ordered by memory: whoever runs the windows
// admits them as there is room.
class WindowPlanner {
 public:
  // Graph and machine must outlive it.
  WindowPlanner(const Graph& graph, const Machine& machine, PlanOptions options);
  ~WindowPlanner();

  // Plans all ops appended since the last call, of which there must be one. Ops before `keep_from`
  // will not be read by those appended later. Blocks and throws like make_plan; the planner is of
  // no use then.
  PlannedWindow plan(OpId keep_from);

  // All windows before number `window` are done and all that was made before `replica` is gone.
  void forget(std::uint32_t window, ReplicaId replica);

  // Units and replicas that aren't forgotten, and no windows.
  const Plan& plan() const;

 private:
  std::unique_ptr<class Planner> planner_;
};

}  // namespace troupe
