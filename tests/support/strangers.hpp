// Connections to a process under test from who doesn't belong there, and what they cost it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace troupe::testing {

// A connection to a port of 127.0.0.1, if one can be had in time.
class Stranger {
 public:
  explicit Stranger(std::uint16_t port, int patience_ms = 200)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    pollfd ready{.fd = socket_, .events = POLLOUT, .revents = 0};
    is_connected_ = poll(&ready, 1, patience_ms) == 1 && (ready.revents & POLLERR) == 0;
  }
  ~Stranger() {
    if (socket_ >= 0) close(socket_);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  bool is_connected() const { return is_connected_; }
  void say(const std::string& text) const {
    send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

 private:
  const int socket_;
  bool is_connected_ = false;
};

// Header of a message of CAF: 32 bytes, the length at the fifth.
inline std::string message_header(char operation, std::uint32_t length) {
  std::string header(32, '\0');
  header[0] = operation;
  for (int i = 0; i < 4; ++i) header[4 + i] = static_cast<char>(length >> (24 - 8 * i));
  constexpr char handshake_of_server = 0;
  if (operation == handshake_of_server) header[15] = 1;  // its version, which must not be 0
  return header;
}

using Strangers = std::vector<std::unique_ptr<Stranger>>;

// As many as this process may open, but at most `count`.
inline Strangers connect_many(std::uint16_t port, std::size_t count) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  Strangers strangers;
  while (strangers.size() < count) {
    constexpr int patience_ms = 5000;  // the kernel may be busy
    strangers.push_back(std::make_unique<Stranger>(port, patience_ms));
    if (strangers.back()->is_connected()) continue;
    strangers.pop_back();
    break;
  }
  return strangers;
}

// The TCP ports that a process listens on.
inline std::set<std::uint16_t> ports_of(pid_t process) {
  namespace fs = std::filesystem;
  const fs::path folder = "/proc/" + std::to_string(process);
  std::set<std::string> sockets;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(folder / "fd")) {
    sockets.insert(fs::read_symlink(entry.path(), gone).string());
  }
  std::set<std::uint16_t> ports;
  std::ifstream table(folder / "net" / "tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >>
        inode;
    if (state != "0A" || !sockets.contains("socket:[" + inode + "]")) continue;
    ports.insert(static_cast<std::uint16_t>(std::stoul(local.substr(9), nullptr, 16)));
  }
  return ports;
}

struct Cost {
  std::size_t resident_kib = 0;  // at most, until now
  std::size_t threads = 0;
};

inline Cost cost_of(pid_t process) {
  Cost cost;
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string word;
  while (status >> word) {
    if (word == "VmHWM:") status >> cost.resident_kib;
    if (word == "Threads:") status >> cost.threads;
  }
  return cost;
}

}  // namespace troupe::testing
