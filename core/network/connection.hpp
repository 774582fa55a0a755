// A TCP connection to another process, with TLS or without.
#pragma once

#include "core/base/time.hpp"
#include "core/network/tls_context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct ssl_st;

namespace troupe {

// No function blocks. For one thread at a time; sends no SIGPIPE.
class Connection {
 public:
  enum class Side : std::uint8_t { client, server };
  enum class Outcome : std::uint8_t {
    done,
    wants_read,   // call again when the socket is readable
    wants_write,  // call again when the socket is writable
    closed,       // by the other end
    failed,
  };
  struct Result {
    Outcome outcome = Outcome::done;
    std::size_t bytes = 0;  // if done: at least 1
  };

  // Owns the socket. Without `tls`, what is sent can be read and changed on its way.
  Connection(int socket, Side side, const TlsContext* tls);
  ~Connection();
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;

  // Must be done before anything is read or written. With TLS 1.3 the client's side is done before
  // the server has seen its certificate: the first read says whether the server accepts it.
  Outcome shake_hands();
  // Some of `bytes`, which must not be empty.
  Result read(std::span<std::byte> bytes);
  // Some of `bytes`, then of `more`, one of which may be empty.
  Result write(std::span<const std::byte> bytes, std::span<const std::byte> more = {});
  // Bytes that read() returns though the socket isn't readable.
  std::size_t pending() const;
  bool uses_tls() const { return ssl_ != nullptr; }

  // The kernel gives the connection up if the other end doesn't answer, or takes nothing, for about
  // this long, at least a second.
  void limit_silence(Duration limit);

  int socket() const { return socket_; }
  // From now on the caller owns the socket, and closes it after this object is gone.
  int release_socket();
  // "10.0.0.2:40000", the other end of a connection to this server, also when it has gone.
  const std::string& peer() const { return peer_; }
  // Why the last call was closed or failed: "it doesn't speak TLS".
  const std::string& failure() const { return failure_; }

 private:
  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
  };

  Result write_over_tls(std::span<const std::byte> bytes);
  Outcome outcome_of(int returned);
  Outcome outcome_of_call(std::ptrdiff_t returned, Outcome wanted);

  int socket_ = -1;
  bool owns_socket_ = true;
  std::string peer_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;  // null: no TLS
  std::string failure_;
};

}  // namespace troupe
