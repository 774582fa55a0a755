#include "actors/nodes/node_wires.hpp"

#include "core/network/load_wire.hpp"

#include <fmt/format.h>

namespace troupe {

std::unique_ptr<Wire> NodeWires::make(WireListener& listener, const WireNeeds& needs) {
  using Transport = UcxWireOptions::Transport;
  if (use_tls() && !needs.uses_shared_memory) {
    return std::make_unique<TlsWire>(
        listener, entry_,
        TlsWireOptions{.tls = *options_.tls,
                       .place = fmt::format("{}:{}", options_.host, port_.load())});
  }
  return load_ucx_wire(
      listener, {.transport = needs.uses_shared_memory ? Transport::shared_memory : Transport::tcp,
                 .interface_address = options_.host,
                 .node_timeout = needs.node_timeout});
}

}  // namespace troupe
