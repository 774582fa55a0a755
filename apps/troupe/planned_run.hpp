// What `run`, `simulate` and `validate` do alike: get the nodes, load the file, plan its scenarios.
#pragma once

#include "actors/nodes/cluster.hpp"
#include "actors/run_setting.hpp"
#include "actors/runner.hpp"
#include "apps/troupe/checkpoints.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/local_nodes.hpp"
#include "apps/troupe/losses.hpp"
#include "apps/troupe/phases.hpp"
#include "core/config/run_file.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"

#include <optional>
#include <vector>

namespace troupe {

// The nodes that a run uses, if any.
struct RunNodes {
  std::optional<LocalNodes> local;
  std::optional<Cluster> cluster;

  // Starts local nodes, and connects to all. Blocks. Throws like Cluster and LocalNodes.
  // The bar must outlive it.
  RunNodes(const RunArguments& arguments, const OpRegistry& ops, ProgressBar& bar);
  RunNodes(const RunNodes&) = delete;
  RunNodes& operator=(const RunNodes&) = delete;
  const Machine* machine() const { return cluster ? &cluster->machine() : nullptr; }
};

// A run that is about to begin. Its members refer to each other.
struct PlannedRun {
  LossPolicy loss_policy;
  OpRegistry ops;
  RunNodes nodes;
  RunFile file;
  std::vector<Scenario> scenarios;
  RunCheckpoints checkpoints;
  std::optional<Run> run;  // never empty

  // The phases and the arguments must outlive it. Blocks. Throws a usage Error if something can't
  // be had or used; nothing has run then.
  PlannedRun(Mode mode, const RunArguments& arguments, Phases& phases);
  PlannedRun(const PlannedRun&) = delete;
  PlannedRun& operator=(const PlannedRun&) = delete;
};

}  // namespace troupe
