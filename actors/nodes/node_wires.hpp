// How tensors get to and from a node: over TCP, with TLS or without, or by shared memory.
#pragma once

#include "actors/nodes/node_server.hpp"
#include "core/network/acceptor.hpp"
#include "core/network/socket_wire.hpp"
#include "core/network/wire.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace troupe {

class NodeWires {
 public:
  // `options` must outlive it.
  explicit NodeWires(const NodeOptions& options) : options_(options) {}

  bool use_tls() const { return options_.tls && !options_.trusts_network; }
  // Opens the port of their own that tensors may need. Throws a usage Error if there is none.
  void listen();
  // `port`: that of the node, which has been opened after listen().
  void begin(std::uint16_t port);
  // For one leader; blocks until begin(). `listener` must outlive the Wire. Throws an Error if this
  // can't be done.
  std::unique_ptr<Wire> make(WireListener& listener, bool uses_shared_memory);
  // A connection for tensors that has come to the node's port. Thread-safe.
  void accept(Connection connection) { entry_.accept(std::move(connection)); }

 private:
  const NodeOptions& options_;
  std::atomic<std::uint16_t> port_ = 0;
  TensorEntry entry_;
  std::optional<Acceptor> plain_;
};

}  // namespace troupe
