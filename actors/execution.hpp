// What carries windows out: the memory of their tensors, and the actors that work on them.
#pragma once

#include "actors/actor_runtime.hpp"
#include "actors/node_loss.hpp"
#include "actors/run_setting.hpp"
#include "core/backend/link_use.hpp"
#include "core/base/error.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/memory_store.hpp"
#include "core/ops/registry.hpp"
#include "core/ops/tensor_type.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/planner.hpp"
#include "core/result/results.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class Cluster;

// Nodes that were lost, and that others have taken the places of.
struct Replaced {
  std::vector<bool> nodes;  // by NodeId; empty if none
  Duration waited{0};       // in a simulation, since the first of these losses
};

// The windows of run files, of streams and of sessions all go this way. They differ in who plans
// them, and when: a scenario's windows are planned first, and each waits for the one before it. For
// use by one thread.
class Execution {
 public:
  using KeepGoing = std::function<bool()>;

  // The objects referred to must outlive it. Throws a usage Error if there is no storage folder.
  // `cluster`: the nodes that have the devices and the memories; null: this process has them.
  // `losses`: of nodes of a simulation, by time.
  Execution(const Machine& machine, const OpRegistry& ops, RunSetting setting,
            MemoryStore::Counting counting, Cluster* cluster = nullptr,
            std::vector<NodeLoss> losses = {});
  // Blocks until the actors are gone, and so what they have under way.
  ~Execution();

  const RunSetting& setting() const { return setting_; }
  // The tensors of this process.
  MemoryStore& store() { return store_; }

  // Sets actors up, which take the place of earlier ones. They don't begin yet. Throws like
  // ActorRuntime.
  ActorRuntime& start(const ActorRuntimeOptions& options);

  // Readies memory for the tensors of a plan's units from `first` on, wherever they are. `first`:
  // 0, or the first unit that plan_rest() has appended; earlier tensors without readers are freed,
  // and there must be no actors. Blocks; `keep_going`: see MemoryStore::reserve_buffers(). Throws
  // an Error if there isn't enough.
  void prepare(const Plan& plan, UnitId first, std::span<const TensorType> types,
               const KeepGoing& keep_going);
  // The same for the tensors of one window, which must have room, before it is sent to the actors.
  // `at_once`: see MemoryStore::reserve_buffers().
  void prepare(const PlannedWindow& planned, std::span<const TensorType> types,
               std::span<const std::uint64_t> at_once = {}, const KeepGoing& keep_going = {});

  // Ends the actors. Blocks until what they have under way has ended. In a simulation, those that
  // are started next go on at the same time.
  void stop();
  // By NodeId: nodes that don't work any more, empty if none. Those of a simulation are lost when
  // their time has come and the run has failed for it.
  const std::vector<bool>& lost_nodes();
  // Why, as far as it is known; else empty.
  std::string why_lost(NodeId node) const;
  // One of the cluster has been lost since it was made, and which. Thread-safe; has_lost_node()
  // doesn't block.
  bool has_lost_node() const;
  Error loss() const;
  // See Cluster. In a simulation, no nodes are cut off from each other.
  std::size_t cuts() const;
  std::string last_cut() const;
  // A unit of the plan has failed. If it is a transfer between nodes, blocks until its cause is
  // among lost_nodes() or cuts(), and returns a sentence on that, with what to do; or until it
  // can't be. Else returns nothing.
  std::string await_disconnection(const CoordinatorLogic::Failure& failure, const Plan& plan);
  // See Cluster. In a simulation, another node is there so long after a loss.
  Replaced replace_lost_nodes(Duration limit);
  // Those of a run that is over, until clear().
  Results& results();
  // The same, and further replicas of the plan, which must exist.
  Results& results(const Plan& plan, std::span<const ReplicaId> further,
                   std::span<const TensorType> types);
  // Ends the actors, and forgets all tensors. Blocks likewise.
  void clear();
  // Ends the actors for good, and the run of the nodes. Blocks likewise.
  void end();

  // What the report should say of the GPUs and their links, since the Execution was made: a
  // sentence each. Nodes say how their links have copied when the actors end. May be called while
  // actors are at work.
  std::vector<std::string> notes() const;

 private:
  bool is_lost(NodeId node) const;
  void install(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types,
               std::span<const std::uint64_t> at_once, const KeepGoing& keep_going);

  const Machine& machine_;
  const OpRegistry& ops_;
  const RunSetting setting_;
  Cluster* const cluster_;
  const std::vector<NodeLoss> losses_;
  std::size_t lost_ = 0;      // of losses_, in this scenario
  std::size_t replaced_ = 0;  // of these
  std::vector<bool> lost_nodes_;
  std::optional<Instant> stopped_at_;  // in this scenario
  Instant longest_{};                  // of the scenarios before: when it ended
  MemoryStore store_;
  std::vector<std::string> gpu_notes_;  // as the GPUs were, and those of replacements
  std::vector<LinkUse> uses_;           // by LinkId
  StoredResults stored_results_{store_};
  std::unique_ptr<ActorRuntime> actors_;  // last: they use all the others
};

// How many buffers to reserve of each type for a plan that needs `in_graph_order` of them if its
// ops run one after the other: devices and links that work at the same time hold more. Those of
// node `self` only, if one is given.
std::vector<std::uint64_t> buffers_at_once(std::span<const std::uint64_t> in_graph_order,
                                           const Machine& machine, NodeId self = {});

}  // namespace troupe
