// Runs or simulates scenarios: plans them, runs them with actors, and reports.
#pragma once

#include "actors/course.hpp"
#include "actors/execution.hpp"
#include "actors/run_options.hpp"
#include "actors/run_setting.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_options.hpp"
#include "core/result/verify.hpp"
#include "core/trace/report.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

// Plans scenarios for one machine and runs them. Call from one thread only.
//
// perform() doesn't wait for long kernels of a run that is interrupted, be they of devices or of
// verification. The Run owns what they use, so its destructor blocks until they have ended.
class Run {
 public:
  // Plans every scenario. Throws a usage Error as check_machine() does, or if a scenario can't run
  // (because a memory is too small, for example), or if none makes the results of a file that is to
  // be saved; no work has been done then. The objects referred to must outlive the Run.
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
  // Fills the last scenario of `report`.
  void perform(std::size_t index, Report& report);
  void attempt(Course& course, std::size_t index, Report& report);
  // All scenarios up to this one are done: notes it in a checkpoint.
  void pass(std::size_t index, Report& report);
  // Removes the checkpoints if all is done, else says how to go on.
  void leave_checkpoints(Report& report);
  // Reports, compares and saves what was made. False: nodes were lost meanwhile.
  bool conclude(Course& course, std::size_t index, Report& report);
  void check(const Scenario& scenario, const Plan& plan, Report& report);
  // Blocks until `plan` has been verified; none: the run was interrupted before.
  std::optional<Verdict> verdict_on(const Scenario& scenario, const Plan& plan);
  void save(Course& course, std::size_t index, Report& report);
  // Makes the plans.
  void plan_all();
  void plan_what_is_left();
  // The run goes on from here.
  RunPosition position() const {
    return options_.resumed != nullptr ? options_.resumed->position : RunPosition{};
  }
  const Graph& left(std::size_t index) const {
    return left_ && index == position().scenario ? *left_ : graph_;
  }

  const Machine& machine_;
  const Graph& graph_;
  std::span<const Scenario> scenarios_;
  RunOptions options_;
  RunSetting setting_;
  PlanOptions planning_;
  std::vector<Plan> plans_;           // by scenario, until it has been performed
  std::vector<Course::Files> saves_;  // by scenario
  std::uint64_t op_count_ = 0;
  bool has_begun_ = false;     // a scenario
  std::optional<Graph> left_;  // in a scenario that is resumed
  std::string resumed_note_;

  // Kernels that were left use all members above and these, which are destroyed in reverse order.
  std::optional<Execution> execution_;  // since perform()
  std::atomic<std::uint64_t> checked_ = 0;
  std::future<Verdict> verdict_;
};

}  // namespace troupe
