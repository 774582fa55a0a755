#include "core/network/socket_wire.hpp"

#include "core/network/polled_wire.hpp"
#include "core/network/socket_work.hpp"

#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::string_view tls_transport = "tls";
constexpr std::string_view plain_transport = "tcp";

class SocketWire final : public PolledWire<SocketWork> {
 public:
  SocketWire(WireListener& listener, TensorEntry& entry, const SocketWireOptions& options)
      : PolledWire(listener,
                   {.wire = options,
                    .transport = std::string(options.tls ? tls_transport : plain_transport)},
                   options.spin),
        entry_(entry) {
    entry_.set([this](Connection connection) {
      // Calls can be copied, connections can't.
      const auto shared = std::make_shared<Connection>(std::move(connection));
      with_work([shared](SocketWork& work) { work.accept(std::move(*shared)); });
    });
  }
  ~SocketWire() override { entry_.set(nullptr); }
  SocketWire(const SocketWire&) = delete;
  SocketWire& operator=(const SocketWire&) = delete;

 private:
  TensorEntry& entry_;
};

}  // namespace

bool is_tls_wire(std::string_view address) {
  const std::size_t space = address.find(' ');
  return space != std::string_view::npos &&
         address.substr(space + 1, tls_transport.size() + 1) == fmt::format("{} ", tls_transport);
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
  return std::make_unique<SocketWire>(listener, entry, options);
}

}  // namespace troupe
