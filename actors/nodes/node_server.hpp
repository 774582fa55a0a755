// A process that lends its devices and memories to the leaders of runs.
#pragma once

#include "core/base/time.hpp"
#include "core/machine/discover.hpp"
#include "core/network/tls_context.hpp"
#include "core/ops/registry.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct NodeOptions {
  std::string host = "127.0.0.1";  // to listen on: one network interface, by its IPv4 address
  std::uint16_t port = 0;          // 0: any that is free
  std::string name = {};           // of the node; empty: the leader gives it one
  bool once = false;               // end when the first leader is done
  LocalMachineOptions machine = {};
  bool lends_gpus = true;                            // to leaders that ask for them
  double memory_share = 1;                           // of this host's and its GPUs' memory
  Duration node_timeout = std::chrono::seconds(10);  // a leader that is silent for longer is gone
  // For control, and for tensors unless the network is trusted; none: nothing is encrypted.
  std::optional<TlsContext> tls = {};
  // Whoever reaches the node's ports may use it: without TLS, it may listen on what isn't loopback;
  // with TLS, tensors aren't encrypted.
  bool trusts_network = false;
  // Of a connection that isn't accepted. Called on threads of the node, also at the same time.
  std::function<void(const std::string& peer, const std::string& cause)> on_refused = {};
  // Of a leader that has ended without a goodbye, or is silent: "process 4711 on login". Called on
  // a thread of the node.
  std::function<void(const std::string& name)> on_leader_lost = {};
};

// Works for one leader at a time. When the leader is gone, whatever it had begun is stopped, and
// the node is free.
class NodeServer {
 public:
  // Listens. Throws a usage Error if it can't listen there, or mustn't. `ops` must outlive it.
  NodeServer(const OpRegistry& ops, const NodeOptions& options);
  ~NodeServer();  // blocks until what is under way has ended

  std::uint16_t port() const;
  bool uses_tls_for_tensors() const;
  // Blocks until the first leader is done if that is the option, else for `time`. Returns whether
  // the node's work is done.
  bool wait(Duration time);
  bool has_had_leader() const;
  bool has_lost_leader() const;
  // What it lends, but for GPUs that a run asks for.
  Machine machine() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe
