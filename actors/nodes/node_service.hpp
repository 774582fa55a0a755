// What a node does for one leader: its runs, one after the other, and their connections.
#pragma once

#include "actors/actor_system_setup.hpp"
#include "actors/nodes/control_system.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "actors/nodes/node_run.hpp"
#include "core/network/wire.hpp"
#include "core/ops/registry.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// Makes a node's end of what joins it to others. Throws an Error if this can't be done.
using MakeWire = std::function<std::unique_ptr<Wire>(WireListener&, bool uses_shared_memory)>;

// What comes from other nodes goes to the run that is on.
class Arrivals final : public WireListener {
 public:
  explicit Arrivals(caf::actor leader) : leader_(std::move(leader)) {}

  // From now on chunks come over `wire`. No other wire may be in use.
  void use(Wire& wire, std::uint32_t epoch);
  // Of this node.
  void set_self(NodeId self);
  void set_run(NodeRun* run);
  void arrived(const ChunkHeader& header, ArrivedChunk chunk) override;
  void lost(NodeId node, const std::string& cause) override;

 private:
  const caf::actor leader_;
  Wire* wire_ = nullptr;
  std::uint32_t epoch_ = 0;
  std::mutex mutex_;
  NodeId self_;
  NodeRun* run_ = nullptr;
};

// For use by one thread.
class NodeService {
 public:
  // `rehearsal`: null, or what all nodes share if they are in this process, under virtual time. The
  // objects referred to must outlive it. Throws what `make_wire` throws.
  NodeService(caf::actor_system& system, OpRegistry ops, caf::actor leader, MakeWire make_wire,
              bool uses_shared_memory, std::shared_ptr<ActorSystemSetup> rehearsal);
  // Blocks until what is under way has ended.
  ~NodeService();

  const caf::actor& leader() const { return leader_; }
  std::string address() const { return wire_->address(); }
  NodeRun* run() { return run_ ? &*run_ : nullptr; }
  NodeTensors* tensors() { return tensors_ ? &*tensors_ : nullptr; }

  // See gpus_of_node().
  std::vector<GpuOfDevice> gpus(const Machine& machine, NodeId self) const;
  // Nothing goes over the network any more. Peers that are alive but stopped would never take or
  // send what is under way with them.
  void disconnect(const std::string& cause);
  // Ends the last run, of which nothing is on its way then. Blocks until what it has under way has
  // ended. Throws what `make_wire` throws.
  void reconnect(const Reconnect& reconnect);
  // Both end the last run likewise. Throws an Error if the run can't begin.
  void begin_run(const BeginRun& begin);
  void end_run();
  // Of the run that is on. All but change() throw an Error if that is another one, or has failed.
  void change(const ChangeTensors& change);
  void renumber(const RenumberTensors& renumber);
  void give(const GiveValues& part);

 private:
  bool is_on(std::uint32_t run) const { return run_ && run_->number() == run; }
  std::function<bool()> keep_going() const {
    return [this] { return !*is_leader_gone_; };
  }
  void connect(std::uint32_t epoch, bool is_alone);
  Mode mode() const { return rehearsal_ ? Mode::rehearse : Mode::run; }

  const OpRegistry ops_;
  const caf::actor leader_;
  const std::shared_ptr<std::atomic<bool>> is_leader_gone_ =
      std::make_shared<std::atomic<bool>>(false);
  const OwnedActor watchman_;
  const MakeWire make_wire_;
  const bool uses_shared_memory_;
  const std::shared_ptr<ActorSystemSetup> rehearsal_;
  Arrivals arrivals_;
  std::unique_ptr<Wire> wire_;    // null: it is disconnected
  std::string why_disconnected_;  // the last time
  bool is_connected_ = false;
  std::optional<NodeTensors> tensors_;
  std::optional<NodeRun> run_;
};

}  // namespace troupe
