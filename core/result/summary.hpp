// Computes the report of a real or simulated run from its records.
#pragma once

#include "core/base/sliding_vector.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/run/coordinator_logic.hpp"
#include "core/trace/report.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

// The result of the actors of one run.
struct RunResult {
  Ending ending = Ending::done;
  CoordinatorLogic::Failure failure = {};
  std::optional<Instant> origin;
  Duration took{0};       // real time
  ResourceShares shares;  // of windows that haven't completed, with the records of their items
  // Units that an interrupted run has left: their actors still work on them.
  std::vector<UnitId> under_way = {};
  // Other actors that it has not waited for. What those on other nodes have begun isn't known.
  std::vector<ResourceId> not_awaited = {};
};

// "'run[3]' on gpu0", "'run[3]' over pcie0"
std::string unit_name(const Graph& graph, const Machine& machine, const Plan& plan, UnitId unit);

// The tensors that must exist before the unit starts: "'x', 'y'", or "nothing". Other dependencies
// of a unit only wait for room in its memory.
std::string unit_needs(const Graph& graph, const Plan& plan, UnitId unit);

// Why the run failed, in words. Empty if it didn't fail.
std::string describe(const CoordinatorLogic::Failure& failure, const Graph& graph,
                     const Machine& machine, const Plan& plan);

// Counts, times, bounds (docs/architecture.md, Words), utilisation and timeline of one scenario,
// from the shares of its windows. The lower bound is that of the finished units, with their
// measured times.
class Summary {
 public:
  // `plan` must hold the units of the windows that are added. All arguments must outlive the
  // Summary. `loaded`, sorted: ops whose tensors come from a checkpoint, which are no work.
  Summary(const Graph& graph, const Machine& machine, const Plan& plan, bool with_timeline,
          std::vector<OpId> loaded = {});

  // Adds a window, in order, with the shares that the actors have handed in.
  void add(const Window& window);
  // Frees the data of units before `unit`. Later windows must not read the outputs of these units.
  void forget_before(UnitId unit);

  // The report. Must be called once.
  ScenarioReport finish(const std::string& name, const RunResult& result);

 private:
  // When a unit could have begun and ended if it had waited only for its inputs.
  struct Earliest {
    Duration ready{0};
    Duration finish{0};
  };

  bool is_loaded(const Unit& unit) const;
  void reserve_predecessors(const Window& window);
  void add_times(const Window& window);
  Earliest earliest(UnitId unit, const ShareTable<>& shares,
                    std::span<const ReplicaId> inputs) const;
  const Share::Item* find_finished(UnitId unit, const ShareTable<>& shares) const;
  Duration shortest_chunk(UnitId transfer, const ShareTable<>& shares) const;
  void add_span(const Unit& unit, const Share& share, std::span<const ReplicaId> inputs);
  std::span<const ReplicaId> distinct(std::span<const ReplicaId> inputs);
  bool is_shown(UnitId unit) const;
  std::uint32_t span_of(UnitId unit) const;
  void add_resources();
  void add_bound();

  const Graph& graph_;
  const Machine& machine_;
  const Plan& plan_;
  bool with_timeline_;
  std::vector<OpId> loaded_;
  ScenarioReport report_;
  Instant last_ = Instant::min();  // the latest end of a unit
  std::vector<Duration> busy_;     // by device, then by link and direction
  Duration critical_path_{0};
  SlidingVector<Earliest> earliest_;  // by unit, from Plan::first_timed on
  // Units: unfinished ones, given and loaded tensors, further outputs.
  std::vector<UnitId> without_span_;
  std::vector<UnitId> not_shown_;  // the same without further outputs, whose makers are shown
  // Given and loaded tensors, further outputs, unfinished units planned anew.
  std::size_t no_work_ = 0;
  std::vector<std::uint32_t> label_of_;  // by op kind, then by group; for ops and for transfers
  // Of transfers of further outputs: by op kind or group, and number of the output.
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> further_label_of_;
  std::vector<std::uint32_t> first_track_;  // by resource
  // Of distinct().
  std::vector<std::uint32_t> distinct_places_;
  std::vector<ReplicaId> distinct_;
};

// Summarizes all windows of the plan, which must have their shares, and drops the successors there.
ScenarioReport summarize(const Graph& graph, const Machine& machine, Plan& plan,
                         const std::string& name, const RunResult& result,
                         bool with_timeline = true, std::vector<OpId> loaded = {});

}  // namespace troupe
