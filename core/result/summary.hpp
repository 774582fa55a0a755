// From the records of a run to its report: the same for real and simulated runs.
#pragma once

#include "core/base/sliding_vector.hpp"
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

// Counts, times, bounds (docs/architecture.md, Words), utilisation and timeline of one scenario,
// from the shares of its windows. The lower bound is taken over what finished, with the times it
// took.
class Summary {
 public:
  // `plan` knows the units of the windows that are added. All must outlive it.
  Summary(const Graph& graph, const Machine& machine, const Plan& plan, bool with_timeline);

  // One more window, its shares back in it, in order.
  void add(const Window& window);
  // No unit of a window to come reads what units before `unit` made.
  void forget_before(UnitId unit);

  // `result` without its shares. Call it once.
  ScenarioReport finish(const std::string& name, const RunResult& result);

 private:
  // When a unit could have begun and ended if it had waited for nothing but its inputs.
  struct Earliest {
    Duration ready{0};
    Duration finish{0};
  };

  void reserve_predecessors(const Window& window);
  void add_times(const Window& window);
  Earliest earliest(UnitId unit, const ShareTable<>& shares,
                    std::span<const ReplicaId> inputs) const;
  Duration shortest_chunk(UnitId transfer, const ShareTable<>& shares) const;
  void add_span(const Unit& unit, const Share& share, std::span<const ReplicaId> inputs);
  std::uint32_t span_of(UnitId unit) const;
  void add_resources();
  void add_bound();

  const Graph& graph_;
  const Machine& machine_;
  const Plan& plan_;
  bool with_timeline_;
  ScenarioReport report_;
  Instant last_ = Instant::min();  // when the latest one ended
  std::vector<Duration> busy_;     // by device, then by link and direction
  Duration critical_path_{0};
  SlidingVector<Earliest> earliest_;  // by unit from first_timed on
  std::vector<UnitId> unfinished_;
  std::vector<std::uint32_t> label_of_;     // by group, computed or moved
  std::vector<std::uint32_t> first_track_;  // by resource
};

// Puts the shares back into the plan and sums its windows up.
ScenarioReport summarize(const Graph& graph, const Machine& machine, Plan& plan,
                         const std::string& name, RunResult result);

}  // namespace troupe
