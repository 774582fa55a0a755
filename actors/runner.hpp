// Runs or simulates scenarios: plans them, runs them with actors, and reports.
#pragma once

#include "actors/run_setting.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/result/summary.hpp"
#include "core/trace/report.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct RunProgress {
  enum class Stage : std::uint8_t {
    reserving,  // allocating buffers; `done` and `total` are 0
    running,
    verifying,
  };
  const std::string& scenario;
  Stage stage = Stage::running;
  std::uint64_t done = 0;  // ops and transfers
  std::uint64_t total = 0;
};

struct RunOptions {
  Mode mode = Mode::run;
  // Decides the order of concurrent messages under virtual time; results don't depend on it.
  std::uint64_t seed = 0;
  // Compare results with a serial execution if the mode computes values.
  bool verify = true;
  // The run ends early when this becomes true; the report then contains what has finished. Any
  // thread or signal handler may set it.
  const std::atomic<bool>* interrupted = nullptr;
  // The host's memory that tensors may take if the mode computes values. None: the memory available
  // when the Run is made, minus a reserve.
  std::optional<std::uint64_t> ram_bytes = {};
  // Called on the thread in perform(), about 20 times a second.
  std::function<void(const RunProgress&)> on_progress = {};
};

// Plans scenarios for one machine and runs them. Call from one thread only.
class Run {
 public:
  // Plans every scenario. Throws a usage Error if one can't run (because a memory is too small, for
  // example); no work has been done then. The objects referred to must outlive the Run.
  Run(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
      RunOptions options);

  // Runs the scenarios one after the other. Blocks until they have completed, one has failed, or
  // the run was interrupted; the report says that all others were not run. A failure is in the
  // report, too. Throws an Error if the first scenario can't begin (not enough host memory or
  // threads, no storage). Must be called once only.
  Report perform();

  // Number of ops in all scenarios, including those prepared before the clock starts.
  std::uint64_t op_count() const { return op_count_; }

 private:
  // Fills the last scenario of `report`.
  void perform(const Scenario& scenario, Plan& plan, MemoryStore& store, Report& report);
  // `has_begun` becomes true once the actors are set up.
  RunResult act(const Scenario& scenario, Plan& plan, MemoryStore& store, bool& has_begun);
  void check(const Scenario& scenario, const Plan& plan, const MemoryStore& store,
             Report& report) const;
  bool is_interrupted() const;
  void tell(const Scenario& scenario, RunProgress::Stage stage, std::uint64_t done,
            std::uint64_t total) const;

  const Machine& machine_;
  const Graph& graph_;
  std::span<const Scenario> scenarios_;
  RunOptions options_;
  RunSetting setting_;
  std::vector<Plan> plans_;  // by scenario, until it has been performed
  std::uint64_t op_count_ = 0;
};

}  // namespace troupe
