// The actor of a node, with which a leader talks.
#pragma once

#include "actors/actor_system_setup.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "actors/nodes/node_service.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"

#include <functional>
#include <memory>
#include <string>

#include <caf/all.hpp>

namespace troupe {

struct AgentOptions {
  const OpRegistry& ops;             // must outlive the agent
  std::string name = {};             // of the node; empty: the leader gives it one
  std::function<Machine()> machine;  // what the node has, but for GPUs
  // What it has with its GPUs. May block for seconds. Null: it has none.
  std::function<MachineIs()> machine_with_gpus = {};
  bool lends_gpus = true;  // else runs whose machine has GPUs on this node are refused
  MakeWire make_wire;
  std::function<void()> on_leader = [] {};  // it has one
  // It has ended without a goodbye, or is silent. Called before on_leader_gone.
  std::function<void(const std::string& name)> on_leader_lost = [](const std::string&) {};
  std::function<void()> on_leader_gone = [] {};
  std::shared_ptr<ActorSystemSetup> rehearsal = {};  // see NodeService
};

// Works for one leader at a time (node_protocol.hpp). `thread`: of its own, as it may block for
// long; null: under virtual time.
caf::actor spawn_agent(caf::actor_system& system, AgentOptions options,
                       caf::execution_unit* thread);

}  // namespace troupe
