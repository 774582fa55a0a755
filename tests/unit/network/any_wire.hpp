// A Wire of each kind, for tests of what they have in common.
#pragma once

#include "core/network/acceptor.hpp"
#include "core/network/load_wire.hpp"
#include "core/network/make_certificates.hpp"
#include "core/network/socket_wire.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace troupe::testing {

enum class Transport : std::uint8_t { tcp, shared_memory, tls };

inline constexpr Transport all_transports[] = {Transport::tcp, Transport::shared_memory,
                                               Transport::tls};

inline std::string name_of(Transport transport) {
  return transport == Transport::tcp             ? "tcp"
         : transport == Transport::shared_memory ? "shared_memory"
                                                 : "tls";
}
inline Transport transport_named(std::string_view name) {
  for (const Transport transport : all_transports) {
    if (name_of(transport) == name) return transport;
  }
  return Transport::tcp;
}

inline TlsFiles tls_files_in(const std::filesystem::path& folder) {
  return {.certificate = folder / "node.pem",
          .key = folder / "node.key",
          .authority = folder / "ca.pem"};
}

// On the loopback interface, with a port of its own if it needs one.
class AnyWire {
 public:
  // `certificates`: a folder, for TLS.
  AnyWire(WireListener& listener, Transport transport, const std::filesystem::path& certificates) {
    if (transport == Transport::shared_memory) {
      wire_ = load_ucx_wire(listener, {}).release();
      return;
    }
    std::optional<TlsContext> tls;
    if (transport == Transport::tls) tls.emplace(tls_files_in(certificates));
    acceptor_.emplace(
        AcceptorOptions{.tls = tls},
        [this](Purpose, Connection connection) { entry_.accept(std::move(connection)); },
        [](const std::string&, const std::string&) {});
    wire_ = make_socket_wire(listener, entry_,
                             {.tls = tls, .place = fmt::format("127.0.0.1:{}", acceptor_->port())})
                .release();
  }
  ~AnyWire() { close(); }
  AnyWire(const AnyWire&) = delete;
  AnyWire& operator=(const AnyWire&) = delete;

  Wire& operator*() { return *wire_; }
  Wire* operator->() { return wire_; }
  // Destroys the Wire; its listener may use it until then.
  void close() {
    delete wire_;
    wire_ = nullptr;
  }

 private:
  TensorEntry entry_;
  std::optional<Acceptor> acceptor_;
  Wire* wire_ = nullptr;
};

}  // namespace troupe::testing
