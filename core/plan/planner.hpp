// Makes a plan from a graph and a scenario, or window by window from a graph that grows.
#pragma once

#include "core/graph/op_ranges.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_options.hpp"
#include "core/plan/rest.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

// Places ops (as the user says, else by the options' placement policy), inserts a transfer
// wherever an op reads a tensor that isn't in its device's memory, and splits the units into
// shares. Blocks. A large scenario is planned on two threads if the host can start a second one.
//
// Throws a usage Error that names op and device (with the op's place) if a device lacks the kernel,
// there is no route, or the scenario lists an op before one of its inputs; also if a memory or the
// host is too small for the tensors that it holds at the same time when ops run in graph order (the
// Error names the bytes needed and available).
Plan make_plan(const Graph& graph, const Machine& machine, const Scenario& scenario,
               const PlanOptions& options);

// The same where some tensors are loaded in `left`, which is a copy of the graph (see
// Graph::with_sources): plans only what the results that are wanted need then. `left` may be the
// graph itself, which is planned as above.
Plan make_plan(const Graph& graph, const Graph& left, const Machine& machine,
               const Scenario& scenario, const PlanOptions& options);

// Plans what `plan`, whose run has ended early, and whose windows are gone, still lacks of the
// goal: appends units, and windows for them (see rest.hpp). Their units read tensors that remain,
// whose readers are counted anew: those without readers aren't needed any more. Results that are
// lost, and that find_rest() doesn't want, are results no more. Blocks and throws like make_plan();
// the plan has what it had then, but the readers of its replicas.
void plan_rest(const Graph& graph, const Machine& machine, const Scenario& scenario,
               const Goal& goal, Plan& plan, const Remains& remains, const PlanOptions& options);

// A window of a graph that is appended while it runs.
struct PlannedWindow {
  Window window;
  std::vector<ReplicaSpec> replicas;  // made by the window's units, in unit order
  // Replicas of earlier windows that get one more reader for each time they are listed.
  std::vector<ReplicaId> read_again;
  // A replica made in this window that later windows may read, or that nobody reads. Its number of
  // readers includes one for the caller, which releases the replica once the window has completed
  // and no later window reads it.
  struct Hold {
    OpId op;
    ReplicaId replica;
  };
  std::vector<Hold> holds;
};

// Plans a graph window by window while earlier windows run. A dependency on a unit of an earlier
// window becomes a late edge (share.hpp), unless it is known to have completed. Priorities and
// automatic placement consider only ops that have been appended already. No units are ordered by
// memory: the caller must start a window only when there is room for its tensors.
class WindowPlanner {
 public:
  // Graph and machine must outlive the planner. Windows are numbered from `first_window`.
  WindowPlanner(const Graph& graph, const Machine& machine, PlanOptions options,
                std::uint32_t first_window = 0);
  ~WindowPlanner();

  // Plans all ops appended since the last call; there must be at least one. Ops appended later must
  // not read an op before `keep_from`. Blocks and throws like make_plan; after an Error the planner
  // must not be used again.
  PlannedWindow plan(OpId keep_from);
  // The same for a caller that lists the ops, in graph order and without those whose kind is given,
  // and that knows of every tensor whether ops appended later may read it. Nothing is forgotten.
  // Ops of a window that isn't timed take no time in a simulation, and need no rate. `busy`: by
  // device, how long it will still be at work on earlier windows; automatic placement takes it into
  // account. Empty: all devices are free.
  PlannedWindow plan(OpRanges ops, const std::function<bool(OpId)>& may_be_read, bool timed,
                     std::span<const Duration> busy = {});

  // Says that the tensor of an op whose kind is given exists in `memory`; several memories may hold
  // it. The replica has the next number, and one reader, for the caller. Must be called before the
  // first window that reads the tensor is planned.
  ReplicaSpec add_given(OpId op, MemoryId memory);

  // All windows before number `window` have completed: no dependency on a unit of theirs becomes a
  // late edge.
  void on_completed(std::uint32_t window);
  // Drops what was planned before. All windows before number `window` must have completed, and all
  // replicas before `replica` must have been freed.
  void forget(std::uint32_t window, ReplicaId replica);

  // Contains the units and replicas that aren't forgotten, and no windows.
  const Plan& plan() const;

 private:
  std::unique_ptr<class Planner> planner_;
};

}  // namespace troupe
