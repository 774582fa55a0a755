// Runs or simulates scenarios with actors: the front door of this room.
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
    reserving,  // buffers; how far that is isn't known
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
  // Compare results with a serial execution, where the mode computes any.
  bool verify = true;
  // Set from anywhere (a signal handler) to end the run; what finished stays in the report.
  const std::atomic<bool>* interrupted = nullptr;
  // What tensors may take of the host's memory, where the mode computes any; none: what is
  // available when the Run is made, less a reserve.
  std::optional<std::uint64_t> ram_bytes = {};
  // Called on the thread in perform(), about 20 times a second.
  std::function<void(const RunProgress&)> on_progress = {};
};

// Scenarios planned and checked, ready to be carried out on one machine.
class Run {
 public:
  // Plans every scenario; throws a usage Error where one can't be carried out (for lack of memory,
  // say), before anything has happened. All references must outlive the Run.
  Run(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
      RunOptions options);

  // Carries the scenarios out one after the other and blocks until they are done, one has failed,
  // or the run was interrupted; the report says that all others were not run. A failure is in the
  // report, too. Throws an Error if the run could not even begin (not enough host memory or
  // threads, no storage). Call it once.
  Report perform();

  // Ops over all scenarios, those that are prepared before a clock starts included.
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
