// The nodes of a run, as its leader sees them.
#pragma once

#include "actors/execution.hpp"
#include "core/backend/cuda/gpu_of_device.hpp"
#include "core/base/time.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/memory_store.hpp"
#include "core/network/tls_context.hpp"
#include "core/ops/registry.hpp"
#include "core/ops/tensor_type.hpp"
#include "core/plan/plan.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class NodeResources;
class RemoteTensors;
struct RehearsedNodes;

struct ClusterOptions {
  std::vector<std::string> addresses = {};              // "host:port", one for each node
  Duration connect_timeout = std::chrono::seconds(10);  // for each step of getting a node
  // Nodes may be about to start: until that time they are tried again.
  bool awaits_nodes = false;
  Duration node_timeout = std::chrono::seconds(10);  // a node that is silent for longer is gone
  // Nodes may have other kinds of ops as well. Else they must have the same.
  bool allows_other_kinds = false;
  // How tensors go from node to node: by TCP, or, where all nodes are on one host, through its
  // memory.
  bool uses_shared_memory = false;
  // For nodes with --tls-cert; none: control isn't encrypted.
  std::optional<TlsContext> tls = {};
  // Nodes that are in this process; null: they are reached over the network.
  std::shared_ptr<const RehearsedNodes> rehearsed = nullptr;
  // Starts a process in the place of a lost one and returns its address, within this time. Null:
  // somebody else does, at the same address.
  std::function<std::string(NodeId, Duration timeout)> start_again = {};
  // Called with what the user should know at once.
  std::function<void(const std::string&)> on_news = {};
  // Nodes are waited for no longer when this becomes true. Any thread may set it.
  const std::atomic<bool>* interrupted = nullptr;
};

// For use by one thread.
class Cluster {
 public:
  // Asks for the nodes. Blocks. Throws a usage Error that names the nodes that can't be reached,
  // don't answer, have a certificate of another authority, work for somebody else, or have another
  // version or other kinds of ops. `ops` must outlive the cluster.
  Cluster(const OpRegistry& ops, const ClusterOptions& options);
  // The nodes are free again. Blocks; where one of them was lost, for as long as the network takes
  // to give its connection up, which may be minutes.
  ~Cluster();
  // For a process that will end without destroying this object: the nodes learn that their leader
  // ends in good order. Blocks, for a second at most.
  void say_goodbye();

  bool has_ever_lost_node() const;
  std::vector<bool> lost_nodes() const;  // by NodeId
  // As far as more is known than that it has ended, or is silent.
  std::string why_lost(NodeId node) const;
  // How often nodes were cut off from each other that both live, and what was said of the last
  // time: "node n0 (…) could not reach node n1 (…) (the connection broke)". The run on them has
  // failed; the next one connects them anew. Of two nodes that are cut off again, one is lost.
  std::size_t cuts() const;
  std::string last_cut() const;
  // A tensor has got lost on its way. Blocks until it is known that a node is lost, or cut off from
  // another one, since the run began, and returns a sentence on that, with what to do; or
  // nothing, after three seconds (or the node timeout, if that is less) in which no node is
  // suspected, or if the run is interrupted.
  std::string await_disconnection() const;
  // Blocks until each lost node has a replacement, which takes its name and its place in the
  // machine of the run, and has nothing of the run so far. At some moment before it returns, no
  // node was lost. Throws an Error that names a node for which there is none after `limit`, or only
  // one that can't take its place.
  Replaced replace_lost_nodes(const Machine& machine, Duration limit);
  // Whether tensors go from node to node over TLS, which is slower.
  bool uses_tls_for_tensors() const;
  // What the nodes have, joined by a network: "n0.cpu0", or by the nodes' own names.
  const Machine& machine() const;

  // Makes the GPUs of the nodes part of machine(); without it, there are none. Blocks, while each
  // node starts the driver of its own. Throws a usage Error that names the nodes and says why if
  // none has GPUs to lend.
  void add_gpus();
  // Nodes that lend none though they were asked, or not all, and why: "node n1 (…): it lends no
  // GPUs".
  const std::vector<std::string>& nodes_without_gpus() const;
  // Limits the memories of `machine` to what its nodes can hold: no more of a GPU's than is free
  // there. Blocks. Throws a usage Error that names the node if one lacks a GPU of it, or the place
  // of what no node can do. Does nothing if the machine has no GPU. It has as many nodes as this.
  void complete(Machine& machine);
  // The GPUs of the machine that was completed last, in the order of its devices; of nodes that
  // have been replaced since, those of the new ones.
  const std::vector<GpuOfDevice>& gpus() const;
  // That of a RunSetting for `machine`: CPU devices whose cores it doesn't say count with all cores
  // of their nodes.
  std::int64_t widest_team(const Machine& machine) const;
  // Has each node see whether its host has what `machine` says of it: cores, directories. Blocks.
  // Throws an Error that names the node. The machine has as many nodes as this.
  void check(const Machine& machine);
  // Has each node that isn't lost see whether it has the files that its devices load. Blocks.
  // Throws a usage Error that names the node and the file if one isn't there, or isn't the same.
  void check_files(const Graph& graph, const Machine& machine, std::span<const Plan> plans);
  // Readies the nodes that aren't lost for the units of a plan from `first` on, whose windows will
  // be sent. Of the tensors of earlier units they free those that aren't `kept`. `widest_team`: as
  // in RunSetting. Blocks. Throws an Error that names the node. The machine must outlive the run,
  // and has as many nodes as this.
  void begin_run(const Machine& machine, const Plan& plan, std::int64_t widest_team, UnitId first,
                 std::span<const MemoryStore::Kept> kept, std::span<const TensorType> types);
  // The same for windows that are planned while others run. They bring their tensors.
  void begin_growing(const Machine& machine, std::int64_t widest_team);
  // Those of the run, until end_run(). Of run files, the results, when the plan's actors have quit.
  RemoteTensors& tensors();
  // The devices and links of the nodes, for the actors of the run.
  NodeResources& resources();
  // Frees the tensors.
  void end_run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe
