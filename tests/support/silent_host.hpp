// A host that takes connections and doesn't answer as a node does.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe::testing {

// Listens at all addresses of the loopback interface: 127.0.0.1, 127.0.0.2, … Says nothing by
// itself.
class SilentHost {
 public:
  // `port`: 0: any that is free.
  explicit SilentHost(std::uint16_t port = 0)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;  // connections of who listened there before may not be forgotten
    setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    socklen_t size = sizeof any;
    auto* const at = reinterpret_cast<sockaddr*>(&any);
    if (bind(socket_, at, size) != 0 || listen(socket_, 256) != 0 ||
        getsockname(socket_, at, &size) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    port_ = ntohs(any.sin_port);
  }
  ~SilentHost() { close(socket_); }
  SilentHost(const SilentHost&) = delete;
  SilentHost& operator=(const SilentHost&) = delete;

  // `number` counts from 1.
  std::string address(int number = 1) const {
    return "127.0.0." + std::to_string(number) + ":" + std::to_string(port_);
  }
  // Whether somebody has connected.
  bool has_visitor() const {
    pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
    return poll(&ready, 1, 0) == 1;
  }
  // To the first who has connected, whom it waits for. Then closes the connection.
  void say(const std::string& text) const {
    const int visitor = accept(socket_, nullptr, nullptr);
    send(visitor, text.data(), text.size(), MSG_NOSIGNAL);
    // Closing with unread words would be a reset, which may overtake the text.
    shutdown(visitor, SHUT_WR);
    char ignored[256];
    while (recv(visitor, ignored, sizeof ignored, 0) > 0) {
    }
    close(visitor);
  }

 private:
  const int socket_;
  std::uint16_t port_ = 0;
};

}  // namespace troupe::testing
