// The port of a node: takes connections, and passes those on that belong to Troupe.
#pragma once

#include "core/base/time.hpp"
#include "core/network/connection.hpp"
#include "core/network/introduction.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct AcceptorOptions {
  std::string address = "127.0.0.1";  // of a network interface of this host: IPv4
  std::uint16_t port = 0;             // 0: any that is free
  std::optional<TlsContext> tls = {};
  // Connections that have not introduced themselves. Whatever comes on top takes the place of the
  // oldest one.
  std::size_t pending_max = 256;
  Duration patience = std::chrono::seconds(5);  // with each of them
};

// Has one thread, which does all TLS handshakes. However many connections come, and whatever they
// send, this takes bounded memory, sockets and threads: some 50 KiB for each that is pending.
class Acceptor {
 public:
  // Both are called on the acceptor's thread; must not block.
  using Accepted = std::function<void(Purpose, Connection)>;
  // Not called for those that close the connection or say nothing.
  using Refused = std::function<void(const std::string& peer, const std::string& cause)>;

  // Throws a usage Error if it can't listen there.
  Acceptor(const AcceptorOptions& options, Accepted accepted, Refused refused);
  // Closes the port and all connections that are pending. Blocks briefly.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  std::uint16_t port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe
