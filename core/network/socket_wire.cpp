#include "core/network/socket_wire.hpp"

#include "core/network/polled_wire.hpp"
#include "core/network/socket_work.hpp"

#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::string_view tls_transport = "tls";
constexpr std::string_view plain_transport = "tcp";

}  // namespace

bool is_tls_wire(std::string_view address) {
  const std::size_t space = address.find(' ');
  return space != std::string_view::npos &&
         address.substr(space + 1, tls_transport.size() + 1) == fmt::format("{} ", tls_transport);
}

// The place is the address of an interface, in numbers.
bool is_loopback_wire(std::string_view address) {
  return address.find(" 127.") != std::string_view::npos;
}

void TensorEntry::accept(Connection connection) {
  const std::lock_guard lock(mutex_);
  if (accept_) accept_(std::move(connection));
}

void TensorEntry::set(Accept accept) {
  const std::lock_guard lock(mutex_);
  accept_ = std::move(accept);
}

std::unique_ptr<Wire> make_socket_wire(WireListener& listener, TensorEntry& entry,
                                       const SocketWireOptions& options) {
  const SocketWork::Options own{
      .wire = options,
      .transport = std::string(options.tls ? tls_transport : plain_transport),
      .entry = &entry};
  return std::make_unique<PolledWire<SocketWork>>(listener, own, options.spin);
}

}  // namespace troupe
