#include "actors/nodes/node_wires.hpp"

#include "core/network/load_wire.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace troupe {

void NodeWires::listen() {
  if (!options_.tls || use_tls()) return;
  // The node's port takes TLS only.
  plain_.emplace(
      AcceptorOptions{.address = options_.host},
      [this](Purpose purpose, Connection connection) {
        if (purpose == Purpose::tensors) entry_.accept(std::move(connection));
      },
      [this](const std::string& peer, const std::string& cause) {
        if (options_.on_refused) options_.on_refused(peer, cause);
      });
}

void NodeWires::begin(std::uint16_t port) {
  port_ = plain_ ? plain_->port() : port;
  port_.notify_all();
}

std::unique_ptr<Wire> NodeWires::make(WireListener& listener, bool uses_shared_memory) {
  if (uses_shared_memory) return load_ucx_wire(listener, {});
  port_.wait(0);  // a leader may come before begin()
  SocketWireOptions wire{.tls = use_tls() ? options_.tls : std::nullopt,
                         .place = fmt::format("{}:{}", options_.host, port_.load())};
  wire.silence_max = std::max(wire.silence_max, options_.node_timeout);
  return make_socket_wire(listener, entry_, wire);
}

}  // namespace troupe
