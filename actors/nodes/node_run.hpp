// One run on one node: its devices and links, and the tensors in its memories.
#pragma once

#include "actors/actor_system_setup.hpp"
#include "actors/messages.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "actors/resource_host.hpp"
#include "actors/run_context.hpp"
#include "actors/run_setting.hpp"
#include "core/backend/cuda/gpu_of_device.hpp"
#include "core/backend/link_use.hpp"
#include "core/backend/network/network_port.hpp"
#include "core/base/error.hpp"
#include "core/memory/memory_store.hpp"
#include "core/network/wire.hpp"
#include "core/ops/registry.hpp"
#include "core/result/results.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// The GPUs that devices of node `self` are, which this process is; none if time is virtual. Throws
// a usage Error if this host lacks a device of the node.
std::vector<GpuOfDevice> gpus_of_node(const Machine& machine, NodeId self, Mode mode);

// The tensors in a node's memories, from run to run where a lost node made the leader begin again.
// For use by one thread.
class NodeTensors {
 public:
  // Throws an Error if this host lacks something.
  NodeTensors(const BeginRun& begin, Mode mode);

  // Frees what isn't kept, and allocates buffers, which may take long, but ends when `keep_going`
  // returns false. Throws an Error if this host hasn't enough memory.
  void prepare(const BeginRun& begin, const std::function<bool()>& keep_going);
  // Of a run that grows, while its items may be under way. If one fails, the others do nothing.
  void change(const ChangeTensors& change, const std::function<bool()>& keep_going);
  void renumber(const RenumberTensors& renumber);
  void give(const GiveValues& part);
  // Throws an Error if one of these has failed.
  void check_sound() const;

  const Machine& machine() const { return machine_; }
  NodeId self() const { return self_; }
  const RunSetting& setting() const { return setting_; }
  MemoryStore& store() { return store_; }

  // Of a result that is here. Block. Throw a run Error if it can't be read.
  Digests digests(const DigestsRequest& request);
  Values values(const ValuesRequest& request);

 private:
  template <class Work>
  void attempt(const Work& work);

  const NodeId self_;
  const Machine machine_;
  RunSetting setting_;
  MemoryStore store_;
  StoredResults results_{store_};
  std::optional<Error> failure_;
  ReplicaId read_;                          // the result that was read last
  std::span<const std::byte> read_values_;  // its values
};

// The actors of the node's devices and links have a scheduler of their own, unless time is virtual.
// What they send to the coordinator goes to the leader. For use by one thread, but for arrived().
class NodeRun {
 public:
  // `leader` gets the messages of the node's resources. `rehearsal`: see NodeService. The objects
  // referred to and the leader's actor system must outlive the run. Throws an Error if this host
  // lacks something.
  NodeRun(const BeginRun& begin, NodeTensors& tensors, const OpRegistry& ops, Wire& wire,
          const caf::actor& leader, std::shared_ptr<ActorSystemSetup> rehearsal);
  // Blocks until the actors are gone, and so what they have under way.
  ~NodeRun();
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;

  std::uint32_t number() const { return number_; }
  // Of the node.
  const std::string& name() const;

  // Readies the node's devices for what they will compute. Blocks. Throws an Error if one can't
  // compute it.
  void ready(std::span<const BeginRun::Samples> samples);
  // What the leader sends to a resource. Throws an Error if the resource can't do it. One that has
  // joined already may be told again.
  void join(ResourceId resource);
  void assign(ResourceId resource, const PackedShare& share);
  // Nothing of the shares of windows before this one is needed any more.
  void forget_before(std::uint32_t window);
  template <class Message>
  void pass_on(ResourceId resource, const Message& message) {
    if (resources_.has(resource)) caf::anon_send(resources_[resource], message);
  }
  // Before the notices that wait there, each of which may start an op.
  void stop(ResourceId resource) {
    if (!resources_.has(resource)) return;
    caf::anon_send<caf::message_priority::high>(resources_[resource], Stop{});
  }
  // All that ends is to be handed in: every resource was told to start nothing more, or has done
  // all there is.
  void collect(ResourceId resource, const Collect& collect) {
    port_.drop_rest();
    pass_on(resource, collect);
  }
  // No item starts any more.
  void interrupt() { interrupted_ = true; }
  bool has(ResourceId resource) const { return resources_.has(resource); }
  // The wire is gone: what is on its way fails.
  void abandon_network(const std::string& cause) { port_.abandon(cause); }

  // A chunk of this run has come. Thread-safe.
  void arrived(const ChunkHeader& header, ArrivedChunk chunk) { port_.arrived(header, chunk); }

 private:
  void on_chunk(const ChunkMove::Next& item);
  Share unpack(const PackedShare& packed);
  void join_neighbours(const Share& share);

  const std::uint32_t number_;
  const NodeId self_;
  const OpRegistry& ops_;
  const NodeTensors& tensors_;
  std::atomic<bool> interrupted_ = false;
  std::multimap<std::uint32_t, std::deque<Attrs>> attrs_;  // of the shares' kernels, by window
  NetworkPort port_;
  const std::shared_ptr<ActorSystemSetup> setup_;
  std::vector<LinkUse> uses_;  // by LinkId
  const RunContext context_;
  ResourceHost resources_;
  caf::actor to_leader_;

  std::mutex joining_;                                  // guards what follows
  std::map<std::uint32_t, caf::actor> joined_;          // links, by ResourceId
  std::map<std::uint32_t, std::vector<Notice>> early_;  // chunks for links that haven't joined
};

}  // namespace troupe
