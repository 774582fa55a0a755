// What two processes say to each other on a new connection, before it is used.
#pragma once

#include "core/base/time.hpp"
#include "core/network/connection.hpp"
#include "core/network/host_port.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

// What the client wants the connection for.
enum class Purpose : std::uint8_t {
  control,  // of a leader, to a node
  tensors,  // from node to node
};

// Each side sends a word of 16 bytes: the server its version of Troupe, once it accepts the client;
// the client its purpose, and the version of this protocol. With TLS the client waits for the
// server's word, which means that the server accepts the certificate. A client refuses a server of
// another version. Nothing is read beyond the words. No function blocks.
class Introduction {
 public:
  using Outcome = Connection::Outcome;

  // Of the server.
  explicit Introduction(Connection connection);
  // Of the client. The socket may still be connecting.
  Introduction(Connection connection, Purpose purpose, bool uses_tls);

  // Goes on as far as possible. Closed and failed are final.
  Outcome step();
  int socket() const { return connection_.socket(); }
  std::string peer() const { return connection_.peer(); }
  const std::string& failure() const { return failure_; }
  // When step() has returned `failed`: somebody is there who is no node for this side, whenever one
  // asks; else nobody was reached.
  bool is_refused() const { return stage_ != Stage::connecting; }
  // When step() has returned `done`.
  Purpose purpose() const { return purpose_; }
  Connection take_connection() { return std::move(connection_); }

 private:
  enum class Stage : std::uint8_t { connecting, handshake, sending, receiving };
  static constexpr std::size_t word_bytes = 16;

  Outcome check_connected();
  Outcome send();
  Outcome receive();
  Outcome understand();
  Outcome understand_server(std::string_view heard);
  bool is_last() const;

  Connection connection_;
  const Connection::Side side_;
  const bool receives_first_;
  Purpose purpose_ = Purpose::control;
  Stage stage_;
  std::array<char, word_bytes> out_{};
  std::size_t sent_ = 0;
  std::array<char, word_bytes> in_{};
  std::size_t received_ = 0;
  std::string failure_;
};

// Connects to a node; `tls` null: without TLS. Throws a run Error if the node can't be reached or
// doesn't accept the connection within `timeout`, a usage Error if it doesn't belong to this side's
// authority, is of another version, or is no node. Ends early when `interrupted` (may be null)
// becomes true. Blocks.
Connection open_connection(const HostPort& address, Purpose purpose, const TlsContext* tls,
                           Duration timeout, const std::atomic<bool>* interrupted);

}  // namespace troupe
