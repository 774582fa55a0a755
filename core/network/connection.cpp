#include "core/network/connection.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::size_t tls_record_bytes = 16 << 10;  // at most (RFC 8446, 5.1)
constexpr const char* was_closed = "it has closed the connection";

int socket_of(BIO* bio) {
  int socket = -1;
  BIO_get_fd(bio, &socket);
  return socket;
}
bool may_be_tried_again() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

// OpenSSL's own functions for sockets would raise SIGPIPE.
int bio_write(BIO* bio, const char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = send(socket_of(bio), bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
  if (sent < 0 && may_be_tried_again()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}
int bio_read(BIO* bio, char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = recv(socket_of(bio), bytes, static_cast<std::size_t>(count), 0);
  if (received < 0 && may_be_tried_again()) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

BIO* new_bio(int socket) {
  static BIO_METHOD* const method = [] {
    const BIO_METHOD* const usual = BIO_s_socket();
    BIO_METHOD* const made =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "troupe");
    BIO_meth_set_create(made, BIO_meth_get_create(usual));
    BIO_meth_set_destroy(made, BIO_meth_get_destroy(usual));
    BIO_meth_set_ctrl(made, BIO_meth_get_ctrl(usual));
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    return made;
  }();
  BIO* const bio = BIO_new(method);
  BIO_set_fd(bio, socket, BIO_NOCLOSE);
  return bio;
}

// Of a call that OpenSSL says has failed.
std::string tls_failure(const SSL* ssl) {
  const long verdict = SSL_get_verify_result(ssl);
  if (verdict != X509_V_OK) {
    return fmt::format("its certificate isn't accepted: {}",
                       X509_verify_cert_error_string(verdict));
  }
  const unsigned long error = ERR_get_error();
  const int reason = ERR_GET_REASON(error);
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) return "it has no certificate";
  if (reason >= SSL_AD_REASON_OFFSET && ERR_GET_LIB(error) == ERR_LIB_SSL) {
    return fmt::format("it doesn't accept the certificate or the terms of this side: {}",
                       SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET));
  }
  const char* const text = ERR_reason_error_string(error);
  return fmt::format("it doesn't speak TLS as Troupe does: {}", text == nullptr ? "?" : text);
}

// Of the other end, while it is connected.
std::string address_of_peer(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      address.sin_family != AF_INET) {
    return "an unknown address";
  }
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return fmt::format("{}:{}", text, ntohs(address.sin_port));
}

}  // namespace

void Connection::FreeSsl::operator()(ssl_st* ssl) const {
  SSL_free(ssl);
}

Connection::Connection(int socket, Side side, const TlsContext* tls)
    : socket_(socket), peer_(side == Side::server ? address_of_peer(socket) : std::string()) {
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (tls == nullptr) return;
  ssl_.reset(SSL_new(tls->get()));
  if (ssl_ == nullptr) {
    close(socket_);
    throw run_error("OpenSSL could not begin a connection");
  }
  BIO* const bio = new_bio(socket);
  SSL_set_bio(ssl_.get(), bio, bio);
  side == Side::client ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
}

Connection::~Connection() {
  if (owns_socket_ && socket_ >= 0) close(socket_);
}

Connection::Connection(Connection&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      owns_socket_(other.owns_socket_),
      peer_(std::move(other.peer_)),
      ssl_(std::move(other.ssl_)),
      failure_(std::move(other.failure_)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(owns_socket_, other.owns_socket_);
  std::swap(peer_, other.peer_);
  std::swap(ssl_, other.ssl_);
  std::swap(failure_, other.failure_);
  return *this;
}

Connection::Outcome Connection::outcome_of(int returned) {
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_NONE:
      return Outcome::done;
    case SSL_ERROR_WANT_READ:
      return Outcome::wants_read;
    case SSL_ERROR_WANT_WRITE:
      return Outcome::wants_write;
    case SSL_ERROR_ZERO_RETURN:
    case SSL_ERROR_SYSCALL:
      failure_ = was_closed;
      return Outcome::closed;
    default:
      failure_ = tls_failure(ssl_.get());
      return Outcome::failed;
  }
}

Connection::Outcome Connection::outcome_of_call(std::ptrdiff_t returned, Outcome wanted) {
  if (returned > 0) return Outcome::done;
  if (returned < 0 && may_be_tried_again()) return wanted;
  failure_ =
      returned == 0 || errno == ECONNRESET || errno == EPIPE ? was_closed : system_message(errno);
  return Outcome::closed;
}

Connection::Outcome Connection::shake_hands() {
  if (ssl_ == nullptr) return Outcome::done;
  ERR_clear_error();
  return outcome_of(SSL_do_handshake(ssl_.get()));
}

Connection::Result Connection::read(std::span<std::byte> bytes) {
  if (ssl_ == nullptr) {
    const ssize_t received = recv(socket_, bytes.data(), bytes.size(), 0);
    return {outcome_of_call(received, Outcome::wants_read), static_cast<std::size_t>(received)};
  }
  ERR_clear_error();
  std::size_t received = 0;
  const int returned = SSL_read_ex(ssl_.get(), bytes.data(), bytes.size(), &received);
  return {outcome_of(returned), received};
}

Connection::Result Connection::write(std::span<const std::byte> bytes,
                                     std::span<const std::byte> more) {
  if (ssl_ == nullptr) {
    std::array<iovec, 2> parts{
        {{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()},
         {.iov_base = const_cast<std::byte*>(more.data()), .iov_len = more.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = sendmsg(socket_, &message, MSG_NOSIGNAL);
    return {outcome_of_call(sent, Outcome::wants_write), static_cast<std::size_t>(sent)};
  }
  if (bytes.empty() || more.empty()) return write_over_tls(bytes.empty() ? more : bytes);
  // One record, if it isn't too much.
  std::array<std::byte, tls_record_bytes> record;
  if (bytes.size() > record.size()) return write_over_tls(bytes);
  const std::size_t added = std::min(more.size(), record.size() - bytes.size());
  std::memcpy(record.data(), bytes.data(), bytes.size());
  std::memcpy(record.data() + bytes.size(), more.data(), added);
  return write_over_tls({record.data(), bytes.size() + added});
}

Connection::Result Connection::write_over_tls(std::span<const std::byte> bytes) {
  ERR_clear_error();
  std::size_t sent = 0;
  const int returned = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
  return {outcome_of(returned), sent};
}

std::size_t Connection::pending() const {
  return ssl_ == nullptr ? 0 : static_cast<std::size_t>(SSL_pending(ssl_.get()));
}

void Connection::limit_silence(Duration limit) {
  const auto set = [this](int level, int option, std::int64_t value) {
    const int given = static_cast<int>(value);
    setsockopt(socket_, level, option, &given, sizeof given);
  };
  constexpr std::int64_t probes = 4;
  const auto ms = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(limit).count(), 1000);
  const std::int64_t seconds = std::max<std::int64_t>(ms / (1000 * probes), 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, probes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
}

int Connection::release_socket() {
  owns_socket_ = false;
  return socket_;
}

}  // namespace troupe
