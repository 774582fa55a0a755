// Runs or simulates scenarios: plans them, runs them with actors, and reports.
#pragma once

#include "actors/run_options.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/trace/report.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace troupe {

struct RunSetting;

// Plans scenarios for one machine and runs them. Call from one thread only.
//
// perform() doesn't wait for long kernels of a run that is interrupted, be they of devices or of
// verification. The Run owns what they use, so its destructor blocks until they have ended.
class Run {
 public:
  // Plans every scenario. Throws a usage Error as check_machine() does, or if this host lacks a
  // core, a GPU or a directory of the machine, or if a scenario can't run (because a memory is too
  // small, for example), or if none makes the results of a file that is to be saved; no work has
  // been done then. The objects referred to must outlive the Run.
  Run(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
      RunOptions options);
  ~Run();

  // Runs the scenarios one after the other. Blocks until they have completed, one has failed, or
  // the run was interrupted; the report says that all others were not run. A failure is in the
  // report, too, and so are the ops that an interrupted run has left under way. Throws a usage
  // Error if the first scenario can't begin (not enough host memory or threads, no storage). Must
  // be called once only.
  Report perform();

  // Number of ops in all scenarios, including those prepared before the clock starts.
  std::uint64_t op_count() const;
  const RunSetting& setting() const;
  // That of a real run on this host has what the user's may leave out: the cores of CPU devices,
  // the size of storage; and memories of GPUs are no larger than what is free there.
  const Machine& machine() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace troupe
