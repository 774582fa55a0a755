// Wires of nodes under virtual time.
#pragma once

#include "core/network/wire.hpp"
#include "tests/support/virtual_network.hpp"

#include <cstdint>
#include <map>
#include <memory>

namespace troupe::testing {

class VirtualWire;

// The wires of all nodes.
class VirtualWires {
 public:
  // The network must outlive the wires.
  explicit VirtualWires(VirtualNetwork& network) : network_(network) {}

  // The listener must outlive the wire.
  std::unique_ptr<Wire> make(Place node, WireListener& listener);
  // The connections of two nodes break, and both notice soon if they can.
  void disconnect(Place a, Place b);

 private:
  friend class VirtualWire;
  // `wire` will notice that its connection to `peer` has broken.
  void break_soon(std::uint64_t wire, std::uint64_t peer);

  VirtualNetwork& network_;
  std::map<std::uint64_t, VirtualWire*> wires_;  // by a serial number, which is their address
  std::uint64_t made_ = 0;
};

}  // namespace troupe::testing
