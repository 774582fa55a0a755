// How tensors get to and from a node: over TLS, or where the network is trusted, by UCX.
#pragma once

#include "actors/nodes/node_protocol.hpp"
#include "actors/nodes/node_server.hpp"
#include "core/network/tls_wire.hpp"
#include "core/network/wire.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace troupe {

class NodeWires {
 public:
  // `options` must outlive it.
  explicit NodeWires(const NodeOptions& options) : options_(options) {}

  // That of the node. Must be set before a Wire over TLS is made.
  void set_port(std::uint16_t port) { port_ = port; }
  bool use_tls() const { return options_.tls && !options_.trusts_network; }
  // For one leader. `listener` must outlive the Wire. Throws an Error if this can't be done.
  std::unique_ptr<Wire> make(WireListener& listener, const WireNeeds& needs);
  // A connection for tensors that has come to the node's port. Thread-safe.
  void accept(Connection connection) { entry_.accept(std::move(connection)); }

 private:
  const NodeOptions& options_;
  std::atomic<std::uint16_t> port_ = 0;
  TensorEntry entry_;
};

}  // namespace troupe
