#include "actors/execution.hpp"

#include "actors/nodes/cluster.hpp"
#include "actors/nodes/remote_tensors.hpp"
#include "core/backend/cuda/cuda_backend.hpp"
#include "core/base/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {

namespace {

std::vector<std::string> notes_on_gpus(const RunSetting& setting, const Machine& machine,
                                       const Cluster* cluster) {
  if (setting.has_virtual_time) return {};
  std::vector<std::string> notes;
  if (cluster == nullptr) {
    notes = gpu_notes(machine, gpus_of_devices(machine));
    for (const std::string& gpu : machine.gpus_left_out) {
      notes.push_back(fmt::format("Not used: {}.", gpu));
    }
    return notes;
  }
  notes = gpu_notes(machine, cluster->gpus());
  for (const std::string& why : cluster->nodes_without_gpus()) notes.push_back(why + ".");
  return notes;
}

}  // namespace

// Tensors on other nodes are none of this process's.
Execution::Execution(const Machine& machine, const OpRegistry& ops, RunSetting setting,
                     MemoryStore::Counting counting, Cluster* cluster, std::vector<NodeLoss> losses)
    : machine_(machine),
      ops_(ops),
      setting_(std::move(setting)),
      cluster_(cluster),
      losses_(std::move(losses)),
      store_(machine, cluster != nullptr ? MemoryStore::Backing::accounted : setting_.backing,
             counting, NodeId{}, setting_.make_space),
      gpu_notes_(notes_on_gpus(setting_, machine, cluster)),
      uses_(machine.links.size()) {}

Execution::~Execution() = default;

ActorRuntime& Execution::start(const ActorRuntimeOptions& options) {
  ActorRuntimeOptions complete = options;
  if (cluster_ != nullptr) complete.nodes = &cluster_->resources();
  complete.uses = uses_;
  stop();
  complete.begins_at = stopped_at_.value_or(Instant{});
  for (std::size_t i = lost_; i < losses_.size(); ++i) {
    const auto& [node, after] = losses_[i];
    complete.losses.push_back(
        {.at = Instant{after},
         .node = node,
         .cause = fmt::format("node {} was lost", machine_.nodes[node.index()])});
  }
  actors_ = std::make_unique<ActorRuntime>(machine_, ops_, store_, setting_, complete);
  return *actors_;
}

void Execution::stop() {
  if (actors_ == nullptr) return;
  stopped_at_ = actors_->now();
  actors_.reset();
}

const std::vector<bool>& Execution::lost_nodes() {
  if (cluster_ != nullptr) {
    lost_nodes_ = cluster_->lost_nodes();
    return lost_nodes_;
  }
  for (; lost_ < losses_.size() && stopped_at_ >= Instant{losses_[lost_].after}; ++lost_) {
    lost_nodes_.resize(machine_.nodes.size());
    lost_nodes_[losses_[lost_].node.index()] = true;
  }
  return lost_nodes_;
}

std::string Execution::why_lost(NodeId node) const {
  return cluster_ != nullptr ? cluster_->why_lost(node) : std::string();
}

bool Execution::has_lost_node() const {
  return cluster_ != nullptr && cluster_->has_ever_lost_node();
}

Error Execution::loss() const {
  const std::vector<bool> lost = cluster_->lost_nodes();
  const auto first = std::find(lost.begin(), lost.end(), true);
  const NodeId node = NodeId::at(static_cast<std::size_t>(first - lost.begin()));
  const std::string why = why_lost(node);
  const std::string problem = fmt::format("node {} was lost", machine_.nodes[node.index()]);
  const std::string remedy = "see what has become of it, and start it again";
  if (!why.empty()) return run_error(fmt::format("{} ({})", problem, why), remedy);
  return run_error(problem, remedy +
                                "; if this program was stopped for longer than the node's "
                                "--node-timeout, give the node a longer one");
}

std::size_t Execution::cuts() const {
  return cluster_ != nullptr ? cluster_->cuts() : 0;
}

std::string Execution::last_cut() const {
  return cluster_ != nullptr ? cluster_->last_cut() : std::string();
}

std::string Execution::await_disconnection(const CoordinatorLogic::Failure& failure,
                                           const Plan& plan) {
  if (cluster_ == nullptr || !failure.unit) return {};
  const Unit& unit = plan.units[failure.unit.index()];
  if (!unit.transfer || !is_network_link(machine_, unit.ref.resource)) return {};
  return cluster_->await_disconnection();
}

Replaced Execution::replace_lost_nodes(Duration limit) {
  Replaced replaced;
  if (cluster_ != nullptr) {
    replaced = cluster_->replace_lost_nodes(machine_, limit);
    for (std::string& note : notes_on_gpus(setting_, machine_, cluster_)) {
      const bool is_new = std::find(gpu_notes_.begin(), gpu_notes_.end(), note) == gpu_notes_.end();
      if (is_new) gpu_notes_.push_back(std::move(note));
    }
    return replaced;
  }
  const std::size_t first = replaced_;
  while (!lost_nodes().empty()) {
    const Instant there_again = Instant{losses_[lost_ - 1].after} + limit;
    stopped_at_ = std::max(*stopped_at_, there_again);
    replaced.waited = there_again - Instant{losses_[first].after};
    replaced_ = lost_;
    replaced.nodes.resize(machine_.nodes.size());
    std::transform(lost_nodes_.begin(), lost_nodes_.end(), replaced.nodes.begin(),
                   replaced.nodes.begin(), std::logical_or<>());
    lost_nodes_.clear();
  }
  return replaced;
}

bool Execution::is_lost(NodeId node) const {
  return node && node.index() < lost_nodes_.size() && lost_nodes_[node.index()];
}

void Execution::prepare(const Plan& plan, UnitId first, std::span<const TensorType> types,
                        const KeepGoing& keep_going) {
  const auto before = plan.replicas.slice(0, first.index());
  const auto added = plan.replicas.slice(first.index(), plan.replicas.size() - first.index());
  std::vector<MemoryStore::Kept> kept;
  for (std::size_t r = 0; r < before.size(); ++r) {
    if (before[r].readers == 0) continue;
    // Of a cluster, one more node may just have been lost.
    TROUPE_ASSERT(cluster_ != nullptr || !is_lost(machine_.memory(before[r].memory).node));
    kept.push_back({ReplicaId::at(r), before[r].readers});
  }
  if (cluster_ != nullptr) {
    return cluster_->begin_run(machine_, plan, setting_.widest_team, first, kept, types);
  }
  // A simulation needs no store if all tensors fit into their memories at once.
  if (!setting_.has_values() && store_.replica_count() == 0) {
    if (store_.has_room(plan.replicas.slice(0, plan.replicas.size()), types)) return;
    store_.install(before, types);
  }
  store_.keep_only(kept);
  install(added, types, buffers_at_once(plan.buffers, machine_), keep_going);
}

void Execution::prepare(const PlannedWindow& planned, std::span<const TensorType> types,
                        std::span<const std::uint64_t> at_once, const KeepGoing& keep_going) {
  install(planned.replicas, types, at_once, keep_going);
}

void Execution::install(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types,
                        std::span<const std::uint64_t> at_once, const KeepGoing& keep_going) {
  store_.reserve_buffers(replicas, types, at_once, keep_going);
  store_.install(replicas, types);
}

Results& Execution::results() {
  if (cluster_ != nullptr) return cluster_->tensors();
  return stored_results_;
}

Results& Execution::results(const Plan& plan, std::span<const ReplicaId> further,
                            std::span<const TensorType> types) {
  for (const ReplicaId result : further) {
    if (cluster_ != nullptr) cluster_->tensors().find_result(plan, result, true, types);
  }
  return results();
}

void Execution::clear() {
  end();
  longest_ = std::max(longest_, stopped_at_.value_or(Instant{}));
  stopped_at_.reset();
  lost_ = replaced_ = 0;
  lost_nodes_.clear();
  store_.clear();
}

void Execution::end() {
  stop();
  if (cluster_ != nullptr) cluster_->end_run();
}

std::vector<std::string> Execution::notes() const {
  std::vector<std::string> notes = gpu_notes_;
  for (std::string& note : link_notes(machine_, uses_)) notes.push_back(std::move(note));
  if (cluster_ != nullptr && cluster_->uses_tls_for_tensors()) {
    notes.emplace_back("Tensors went from node to node over TLS, which is slower than without.");
  }
  for (const NodeLoss& loss : std::span(losses_).subspan(lost_)) {
    if (Instant{loss.after} <= longest_) continue;
    notes.push_back(fmt::format("{} was to be lost after {}, and no scenario took so long.",
                                machine_.nodes[loss.node.index()], format_duration(loss.after)));
  }
  return notes;
}

std::vector<std::uint64_t> buffers_at_once(std::span<const std::uint64_t> in_graph_order,
                                           const Machine& machine, NodeId self) {
  const auto count = [&](const auto& parts) {
    return static_cast<std::uint64_t>(std::count_if(
        parts.begin(), parts.end(), [&](const auto& part) { return !self || part.node == self; }));
  };
  const std::uint64_t workers = count(machine.devices) + count(machine.links);
  std::vector<std::uint64_t> at_once(in_graph_order.begin(), in_graph_order.end());
  for (std::uint64_t& buffers : at_once) buffers *= workers;
  return at_once;
}

}  // namespace troupe
