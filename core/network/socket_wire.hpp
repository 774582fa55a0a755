// A Wire over TCP, with TLS or without.
#pragma once

#include "core/base/time.hpp"
#include "core/network/connection.hpp"
#include "core/network/tls_context.hpp"
#include "core/network/wire.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

// Passes connections from an Acceptor on to the Wire that there is at this moment; without one,
// closes them. Thread-safe.
class TensorEntry {
 public:
  using Accept = std::function<void(Connection)>;

  void accept(Connection connection);
  // Null: there is none.
  void set(Accept accept);

 private:
  std::mutex mutex_;
  Accept accept_;
};

struct SocketWireOptions {
  std::optional<TlsContext> tls = {};  // none: what is sent can be read and changed on its way
  std::string place;                   // of the Acceptor: "10.0.0.1:7420"
  Duration connect_timeout = std::chrono::seconds(10);
  // A node is lost whose host doesn't answer, or which takes nothing, for about this long: else
  // nobody may notice that a path is gone.
  Duration silence_max = std::chrono::seconds(20);
  // The wire's thread looks for chunks for this long after the last one, then sleeps.
  Duration spin = std::chrono::microseconds(20);
};

// Whether this is the address of a Wire over TLS.
bool is_tls_wire(std::string_view address);
// Whether only its own host can reach it.
bool is_loopback_wire(std::string_view address);

// `listener` and `entry`, to which other nodes' connections come, must outlive the Wire.
//
// Chunks of more than 64 KiB go straight from where they are to where take() wants them; the
// sender's `done` then comes after the receiver's take() or drop(). Smaller ones are kept here
// until they are taken. In between two parts of a large chunk, small ones go first.
std::unique_ptr<Wire> make_socket_wire(WireListener& listener, TensorEntry& entry,
                                       const SocketWireOptions& options);

}  // namespace troupe
