#include "bench/network/raw.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace network_bench {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void check(bool succeeded, const char* what) {
  if (succeeded) return;
  std::perror(what);
  std::exit(1);
}

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

std::int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

RawTcp::RawTcp() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  check(bind(listener_, generic, sizeof address) == 0 && listen(listener_, 1) == 0, "listen");
  socklen_t bytes = sizeof address;
  getsockname(listener_, generic, &bytes);
  port_ = ntohs(address.sin_port);
}

RawTcp::RawTcp(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), port_(port) {
  const sockaddr_in address = loopback(port);
  check(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
        "connect");
  send_at_once(socket_);
}

RawTcp::~RawTcp() {
  if (listener_ >= 0) close(listener_);
  if (socket_ >= 0) close(socket_);
}

void RawTcp::accept_one() {
  socket_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  check(socket_ >= 0, "accept");
  send_at_once(socket_);
}

void RawTcp::write_all(const void* data, std::size_t bytes) const {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(socket_, from, bytes);
    check(written > 0, "write");
    from += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

bool RawTcp::read_all(void* data, std::size_t bytes, bool spins) const {
  auto* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(socket_, to, bytes, spins ? MSG_DONTWAIT : 0);
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

RoundTrips RawTcp::round_trips(std::size_t count) {
  const Command command{.round_trips = count, .stream = {}};
  write_all(&command, sizeof command);
  std::array<char, 64> message{};
  RoundTrips times;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t begin = now_ns();
    write_all(message.data(), message.size());
    read_all(message.data(), message.size(), true);
    times.push_back(now_ns() - begin);
  }
  return times;
}

double RawTcp::stream(Stream stream, Pool& pool) {
  const Command command{.round_trips = 0, .stream = stream};
  write_all(&command, sizeof command);
  const std::int64_t begin = now_ns();
  for (std::uint64_t i = 0; i < stream.pieces; ++i) {
    write_all(pool.next(stream.piece_bytes), stream.piece_bytes);
  }
  char answer = 0;
  read_all(&answer, 1, true);
  return static_cast<double>(now_ns() - begin) * 1e-9;
}

void RawTcp::serve(Pool& pool) {
  Command command;
  std::array<char, 64> message{};
  while (read_all(&command, sizeof command, false)) {
    for (std::uint64_t i = 0; i < command.round_trips; ++i) {
      read_all(message.data(), message.size(), true);
      write_all(message.data(), message.size());
    }
    const Stream& stream = command.stream;
    for (std::uint64_t i = 0; i < stream.pieces; ++i) {
      read_all(pool.next(stream.piece_bytes), stream.piece_bytes, true);
    }
    if (stream.pieces > 0) write_all(message.data(), 1);
  }
}

double copy(Stream stream, Pool& from, Pool& to) {
  const std::int64_t begin = now_ns();
  for (std::uint64_t i = 0; i < stream.pieces; ++i) {
    std::memcpy(to.next(stream.piece_bytes), from.next(stream.piece_bytes), stream.piece_bytes);
  }
  return static_cast<double>(now_ns() - begin) * 1e-9;
}

double copy_by_kernel(Stream stream, Pool& from, Pool& to) {
  const std::int64_t begin = now_ns();
  for (std::uint64_t i = 0; i < stream.pieces; ++i) {
    const iovec local{to.next(stream.piece_bytes), stream.piece_bytes};
    const iovec remote{from.next(stream.piece_bytes), stream.piece_bytes};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    check(got == static_cast<ssize_t>(stream.piece_bytes), "process_vm_readv");
  }
  return static_cast<double>(now_ns() - begin) * 1e-9;
}

}  // namespace network_bench
