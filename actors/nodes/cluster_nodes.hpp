// The nodes of a cluster: which of them are lost, and who hears what they say of a run.
#pragma once

#include "actors/messages.hpp"
#include "actors/node_resources.hpp"
#include "actors/nodes/connect_nodes.hpp"
#include "actors/nodes/control_system.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "core/machine/machine.hpp"
#include "core/network/random_number.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// What nodes say of each other is a suspicion. If a process has ended, the leader's connection to
// it says so within this time; of one that is silent it isn't known before it answers or is missed.
inline constexpr std::chrono::milliseconds suspicion_time{100};

// For use by the leader's thread. An actor hears the nodes meanwhile.
class ClusterNodes {
 public:
  explicit ClusterNodes(caf::actor_system& system);

  // The actor that nodes talk to.
  const caf::actor& leader() const { return leader_.get(); }
  // These are the nodes, by NodeId. Once.
  void join(std::vector<ConnectedNode> nodes);
  // In the place of one that was lost.
  void replace(std::size_t n, ConnectedNode node);

  std::size_t size() const { return nodes_.size(); }
  const ConnectedNode& operator[](std::size_t n) const { return nodes_[n]; }
  const std::vector<ConnectedNode>& all() const { return nodes_; }
  void set_machine(std::size_t n, Machine machine) { nodes_[n].has.machine = std::move(machine); }
  void set_address(std::size_t n, std::string address) {
    nodes_[n].has.address = std::move(address);
  }

  // Is found to be lost: the others close their connections with it and with each other, and the
  // stand-ins of its devices and links are told.
  void lose(std::size_t n);
  std::vector<bool> lost() const;  // by NodeId
  std::string why_lost(std::size_t n) const;
  bool has_ever_lost() const { return has_ever_lost_; }
  // How often nodes were cut off from each other that both live, and which ones the last time.
  std::size_t cuts() const;
  std::string last_cut() const;
  // If, since begin_epoch(), a node was lost or two were cut off from each other: which, and what
  // to do. Else empty.
  std::string disconnection() const;
  // Whether a node has been said to be out of reach, and it isn't known yet what that comes of.
  bool has_suspicion() const;
  // If the nodes have closed their connections since the last call: the number of the new ones,
  // which have nothing of the old ones.
  std::optional<std::uint32_t> begin_epoch();

  // A run on this machine, which must outlive it: returns its number. What nodes say of other runs
  // isn't heard.
  std::uint32_t begin_run(const Machine& machine);
  caf::actor spawn_stand_in(caf::actor_system& system, ResourceId resource,
                            const caf::actor& coordinator, LinkUse* use);
  void end_run();

 private:
  class Leader;
  template <class Message>
  void route(std::uint32_t run, ResourceId resource, const Message& message);
  void on_down(const caf::actor_addr& agent);
  void suspect(const NodeSuspected& suspected);
  void on_answer(const StillThere& answer);
  void judge(std::uint32_t epoch);
  void judge_later();
  bool is_cut_pair(const NodeSuspected& suspected) const;
  void cut(const NodeSuspected& suspected);
  void mark_lost(std::size_t n, std::string why);
  std::string why_disconnected() const;
  std::string loss_of(std::size_t n) const;
  std::string cut_of() const;
  void disconnect(const std::string& cause, std::size_t but = static_cast<std::size_t>(-1));

  std::vector<ConnectedNode> nodes_;  // by NodeId
  std::atomic<bool> has_ever_lost_ = false;
  // Guards changes of what follows, and of agents and names of nodes_: the leader's thread makes
  // them, or the actor, which changes no more than what is lost.
  mutable std::mutex mutex_;
  const Machine* running_ = nullptr;  // that of the run; null between runs
  // Counts from a random number, so that no two leaders have runs of one number.
  std::uint32_t run_ = static_cast<std::uint32_t>(random_number());
  std::uint32_t epoch_ = 0;       // of the connections between nodes
  bool is_disconnected_ = false;  // a node was lost, has come, or was cut off, in this epoch
  bool is_cut_ = false;           // for the latter reason only
  std::vector<NodeSuspected> suspicions_;  // of this epoch
  std::vector<bool> has_answered_;         // by NodeId: since the last suspicion
  // That were connected anew, the smaller id first; both live.
  std::vector<std::pair<NodeId, NodeId>> cut_pairs_;
  std::size_t cuts_ = 0;
  std::string last_cut_;
  std::vector<bool> is_lost_;                      // by NodeId
  std::vector<std::string> why_lost_;              // by NodeId
  std::map<std::uint32_t, caf::actor> stand_ins_;  // by ResourceId
  const OwnedActor leader_;                        // last: it uses all the others
};

}  // namespace troupe
