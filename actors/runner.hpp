// Runs or simulates scenarios: plans them, runs them with actors, and reports.
#pragma once

#include "actors/execution.hpp"
#include "actors/run_setting.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/saved_file.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_options.hpp"
#include "core/plan/rest.hpp"
#include "core/result/summary.hpp"
#include "core/result/verify.hpp"
#include "core/trace/report.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class Cluster;

struct RunProgress {
  // Of one scenario; each begins when the previous one has ended.
  enum class Phase : std::uint8_t {
    reserving,  // allocating buffers; `done` and `total` are 0
    running,
    verifying,
    saving,  // `done` and `total` are files
  };
  const std::string& scenario;
  Phase phase = Phase::running;
  std::uint64_t done = 0;  // ops and transfers, unless the phase says otherwise
  std::uint64_t total = 0;
};

// What becomes of a run on several nodes when one of them is lost.
enum class OnLoss : std::uint8_t {
  fail,    // it ends
  replan,  // what is still wanted is planned anew for the others, from the tensors that remain
};

struct RunOptions {
  Mode mode = Mode::run;
  // Decides the order of concurrent messages under virtual time; results don't depend on it.
  std::uint64_t seed = 0;
  // Compare results with a serial execution if the mode computes values.
  bool verify = true;
  // The run ends early when this becomes true, and must then stay so; the report contains what has
  // finished. Any thread or signal handler may set it.
  const std::atomic<bool>* interrupted = nullptr;
  // How long an interrupted run waits for the kernels and transfers that are under way.
  Duration grace = interrupt_grace;
  // The host's memory that tensors may take if the mode computes values. None: the memory available
  // when the Run is made, minus a reserve.
  std::optional<std::uint64_t> ram_bytes = {};
  // Whether reports get a timeline. It takes about 50 bytes for each op and transfer.
  bool keep_timeline = true;
  // Each is written after the first scenario that makes all its results, once they have been
  // compared; not if they differ, and not without values. Must outlive the Run.
  std::span<const SavedFile> saves = {};
  // The nodes whose devices and links a real run uses, one for each node of the machine. Null: this
  // process. Must outlive the Run.
  Cluster* cluster = nullptr;
  OnLoss on_loss = OnLoss::fail;
  // Of nodes of a simulation, in each scenario, by time.
  std::vector<NodeLoss> losses = {};
  // Called on the thread in perform(), about 20 times a second.
  std::function<void(const RunProgress&)> on_progress = {};
};

// Plans scenarios for one machine and runs them. Call from one thread only.
//
// perform() doesn't wait for long kernels of a run that is interrupted, be they of devices or of
// verification. The Run owns what they use, so its destructor blocks until they have ended.
class Run {
 public:
  // Plans every scenario. Throws a usage Error if one can't run (because a memory is too small, for
  // example), or if none makes the results of a file that is to be saved; no work has been done
  // then. The objects referred to must outlive the Run.
  Run(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
      RunOptions options);

  // Runs the scenarios one after the other. Blocks until they have completed, one has failed, or
  // the run was interrupted; the report says that all others were not run. A failure is in the
  // report, too, and so are the ops that an interrupted run has left under way. Throws an Error if
  // the first scenario can't begin (not enough host memory or threads, no storage). Must be called
  // once only.
  Report perform();

  // Number of ops in all scenarios, including those prepared before the clock starts.
  std::uint64_t op_count() const { return op_count_; }
  const RunSetting& setting() const { return setting_; }

 private:
  // Of the scenario that is performed. It is run in attempts: one, and one more for each loss of
  // nodes.
  struct Course {
    std::size_t index = 0;
    bool has_begun = false;  // the actors were set up
    std::size_t lost = 0;    // nodes that it does without
    RunResult result = {};   // of all attempts
    bool is_cut = false;     // something is missing, maybe for a lost node
    std::size_t past = 0;    // windows of earlier attempts, in the plan
    Remains remains = {};    // of them
    std::size_t saved = 0;   // files
  };

  // Fills the last scenario of `report`.
  void perform(std::size_t index, Report& report);
  // Readies memory, and plans anew for nodes that were lost before.
  void begin(Course& course, Report& report);
  // Readies memory for units of a plan. False: a node was lost meanwhile, and others can go on.
  bool prepare(const Course& course, UnitId first);
  // Runs the plan's windows.
  void act(Course& course);
  // Whether nodes were lost, and others can make what is missing.
  bool is_to_go_on(const Course& course);
  // Plans and runs what is missing.
  void go_on(Course& course, Report& report);
  // Reports, compares and saves what was made. False: nodes were lost meanwhile.
  bool conclude(Course& course, Report& report);
  void check(const Scenario& scenario, const Plan& plan, Report& report);
  // Blocks until `plan` has been verified; none: the run was interrupted before.
  std::optional<Verdict> verdict_on(const Scenario& scenario, const Plan& plan);
  void save(Course& course, Report& report);
  PlanOptions planning(const Course& course);  // without nodes that are lost
  std::size_t count_lost();
  std::string lost_names(const std::vector<bool>& lost) const;
  // Makes the plans.
  void plan_all();
  // Nodes may be lost, and the run then goes on without them.
  bool replans() const {
    const bool may_lose = options_.cluster != nullptr || !options_.losses.empty();
    return may_lose && options_.on_loss == OnLoss::replan;
  }
  bool is_interrupted() const;
  void report_progress(const Scenario& scenario, RunProgress::Phase phase, std::uint64_t done,
                       std::uint64_t total) const;

  const Machine& machine_;
  const Graph& graph_;
  std::span<const Scenario> scenarios_;
  RunOptions options_;
  RunSetting setting_;
  PlanOptions planning_;
  std::vector<Plan> plans_;                           // by scenario, until it has been performed
  std::vector<std::vector<const SavedFile*>> saves_;  // by scenario
  std::uint64_t op_count_ = 0;

  // Kernels that were left use all members above and these, which are destroyed in reverse order.
  std::optional<Execution> execution_;  // since perform()
  std::atomic<std::uint64_t> checked_ = 0;
  std::future<Verdict> verdict_;
};

}  // namespace troupe
