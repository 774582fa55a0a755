// A process that lends its devices and memories to the leaders of runs.
#pragma once

#include "core/base/time.hpp"
#include "core/machine/discover.hpp"
#include "core/ops/registry.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

struct NodeOptions {
  std::string host = "127.0.0.1";  // to listen on: one network interface, by its IPv4 address
  std::uint16_t port = 0;          // 0: any that is free
  std::string name = {};           // of the node; empty: the leader gives it one
  bool once = false;               // end when the first leader is done
  LocalMachineOptions machine = {};
  double memory_share = 1;                          // of this host's memory, for the tensors
  Duration node_timeout = std::chrono::seconds(3);  // a leader that is silent for longer is gone
  bool trusts_network = false;                      // may listen on what isn't loopback
};

// Works for one leader at a time. When the leader is gone, whatever it had begun is stopped, and
// the node is free.
class NodeServer {
 public:
  // Listens. Throws a usage Error if it can't listen there, or mustn't. `ops` must outlive it.
  NodeServer(const OpRegistry& ops, const NodeOptions& options);
  ~NodeServer();  // blocks until what is under way has ended

  std::uint16_t port() const;
  // Blocks until the first leader is done if that is the option, else for `time`. Returns whether
  // the node's work is done.
  bool wait(Duration time);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe
