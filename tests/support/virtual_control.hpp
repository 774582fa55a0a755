// The control connections of a leader and its nodes under virtual time.
#pragma once

#include "tests/support/virtual_network.hpp"

#include <memory>
#include <vector>

#include <caf/all.hpp>

namespace troupe::testing {

// One connection, as CAF's middleman makes one: each end has a proxy for the actor at the other
// end. What a proxy gets is encoded, takes the time of the network, and is decoded for the actor.
// When the connection is lost, the proxies end, and whoever monitors them is told.
class VirtualControl {
 public:
  // The network and the system must outlive it.
  VirtualControl(caf::actor_system& system, VirtualNetwork& network, Place node, caf::actor agent);
  // All proxies have been told to end.
  ~VirtualControl();
  VirtualControl(const VirtualControl&) = delete;
  VirtualControl& operator=(const VirtualControl&) = delete;

  // The agent, as the leader may use it.
  const caf::actor& agent() const;
  // The leader's end notices that the connection is lost, and closes it.
  void lose_node();
  // The node's end does.
  void lose_leader();
  // Whether lose_node() was called.
  bool has_lost_node() const;

  // Of all proxies.
  std::vector<caf::actor> proxies() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace troupe::testing
