// A node for tests of a Wire over sockets, and what stands for another one.
#pragma once

#include "core/network/frame_stream.hpp"
#include "core/network/wire_address.hpp"
#include "tests/unit/network/wire_end.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

namespace troupe::testing {

// Of the chunks that a SocketNode takes.
inline constexpr std::size_t taken_bytes = 100'000;

// A port, and a wire behind it that can be replaced.
class SocketNode {
 public:
  explicit SocketNode(Transport transport, Duration connect_timeout = std::chrono::seconds(10),
                      Duration silence_max = std::chrono::seconds(20))
      : connect_timeout_(connect_timeout),
        silence_max_(silence_max),
        tls_(transport == Transport::tls ? std::optional(TlsContext(tls_files_in(certificates())))
                                         : std::nullopt),
        acceptor_(
            {.tls = tls_},
            [this](Purpose, Connection connection) { entry_.accept(std::move(connection)); },
            [](const std::string&, const std::string&) {}) {
    start_wire();
  }

  void start_wire() {
    wire_.reset();
    wire_ = make_socket_wire(listener_, entry_,
                             {.tls = tls_,
                              .place = fmt::format("127.0.0.1:{}", acceptor_.port()),
                              .connect_timeout = connect_timeout_,
                              .silence_max = silence_max_});
  }
  Wire& wire() { return *wire_; }
  // Whether another node was lost. Call it once.
  bool is_lost_within(std::chrono::seconds limit) {
    return lost_.get_future().wait_for(limit) == std::future_status::ready;
  }
  // A connection to this port that has been accepted.
  Connection open() const {
    return open_connection({"127.0.0.1", acceptor_.port()}, Purpose::tensors,
                           tls_ ? &*tls_ : nullptr, std::chrono::seconds(10), nullptr);
  }

 private:
  // Takes chunks of a certain size and leaves larger ones; others it drops.
  class Listener final : public WireListener {
   public:
    explicit Listener(SocketNode& node) : node_(node) {}
    void arrived(const ChunkHeader& header, ArrivedChunk chunk) override {
      if (header.bytes == taken_bytes) {
        static_cast<void>(node_.wire_->take(chunk, target_.data(), [](const std::string&) {}));
      } else if (header.bytes < taken_bytes) {
        node_.wire_->drop(chunk);
      }
    }
    void lost(NodeId, const std::string&) override {
      if (!std::exchange(node_.has_lost_, true)) node_.lost_.set_value();
    }

   private:
    SocketNode& node_;
    std::vector<std::byte> target_ = std::vector<std::byte>(2 * taken_bytes);
  };

  const Duration connect_timeout_;
  const Duration silence_max_;
  bool has_lost_ = false;
  std::promise<void> lost_;
  Listener listener_{*this};
  const std::optional<TlsContext> tls_;
  TensorEntry entry_;
  Acceptor acceptor_;
  std::unique_ptr<Wire> wire_;
};

// A port without a wire: the test does what a wire would do, right or wrong.
class OpenPort {
 public:
  explicit OpenPort(Transport transport = Transport::tcp)
      : tls_(transport == Transport::tls ? std::optional(TlsContext(tls_files_in(certificates())))
                                         : std::nullopt),
        acceptor_(
            std::in_place, AcceptorOptions{.tls = tls_},
            [this](Purpose, Connection connection) { accept(std::move(connection)); },
            [](const std::string&, const std::string&) {}) {}

  std::string place() const { return fmt::format("127.0.0.1:{}", acceptor_->port()); }
  // Blocks until a node has opened one more. Throws std::out_of_range after a minute.
  Connection next_connection() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(1), [this] { return !accepted_.empty(); })) {
      throw std::out_of_range("no node has opened a connection");
    }
    Connection connection = std::move(accepted_.front());
    accepted_.pop_front();
    return connection;
  }
  // From now on, it refuses connections.
  void close() { acceptor_.reset(); }

 private:
  void accept(Connection connection) {
    const std::lock_guard lock(mutex_);
    accepted_.push_back(std::move(connection));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Connection> accepted_;
  const std::optional<TlsContext> tls_;
  std::optional<Acceptor> acceptor_;
};

// How many sockets this process has whose other end is at this place.
inline std::ptrdiff_t connections_to(const std::string& place) {
  const auto folder = std::filesystem::directory_iterator("/proc/self/fd");
  return std::count_if(begin(folder), end(folder), [&place](const auto& entry) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    const int fd = std::stoi(entry.path().filename().string());
    const bool is_connected = getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
    return is_connected && peer.sin_family == AF_INET &&
           place == fmt::format("127.0.0.1:{}", ntohs(peer.sin_port));
  });
}

// Runs `test` for each transport of such a wire.
template <class Test>
void for_each_socket_wire(const Test& test) {
  for (const Transport transport : {Transport::tcp, Transport::tls}) {
    BOOST_TEST_CONTEXT(name_of(transport)) {
      test(transport);
    }
  }
}

// The first frame of a connection; `text` follows.
inline Frame hello(const std::string& text) {
  return {.kind = Frame::Kind::hello, .header = {.bytes = text.size()}};
}
// That of a connection for parts.
inline Frame hello_for_parts(const std::string& text) {
  return {.kind = Frame::Kind::hello, .number = 1, .header = {.bytes = text.size()}};
}
// To this wire, from an address that is less than all others, so that its wire opens connections.
inline std::string hello_text(const Wire& to) {
  return to.address() + "\n!somebody\nkey";
}

// Calls `step`, which reads or writes what it can of the bytes that it gets, until all is done:
// blocks. False if the connection is closed, or nothing happens for a minute.
template <class Bytes, class Step>
bool move_all(const Connection& connection, short event, std::span<Bytes> left, const Step& step) {
  const auto may_go_on =
      event == POLLIN ? Connection::Outcome::wants_read : Connection::Outcome::wants_write;
  while (!left.empty()) {
    const Connection::Result result = step(left);
    if (result.outcome == Connection::Outcome::done) {
      left = left.subspan(result.bytes);
      continue;
    }
    pollfd ready{.fd = connection.socket(), .events = event, .revents = 0};
    if (result.outcome != may_go_on || poll(&ready, 1, 60'000) != 1) return false;
  }
  return true;
}

// Blocks until all is written, or the connection is closed.
inline void write_frame(Connection& connection, const Frame& frame, const std::string& text = {}) {
  const auto write = [&connection](std::span<const std::byte> left) {
    return connection.write(left);
  };
  static_cast<void>(move_all(connection, POLLOUT, std::as_bytes(std::span(&frame, 1)), write) &&
                    move_all(connection, POLLOUT, std::as_bytes(std::span(text)), write));
}

struct ReadFrame {
  Frame frame;
  std::string text;  // what follows it
};
// Waits for a frame and what follows it. Nothing if there is none within a minute.
inline std::optional<ReadFrame> read_frame(Connection& connection) {
  ReadFrame got;
  const auto read = [&connection](std::span<std::byte> left) { return connection.read(left); };
  if (!move_all(connection, POLLIN, std::as_writable_bytes(std::span(&got.frame, 1)), read)) {
    return {};
  }
  got.text.resize(got.frame.following_bytes());
  if (!move_all(connection, POLLIN, std::as_writable_bytes(std::span(got.text)), read)) return {};
  return got;
}

// Waits until the other end has closed the connection.
inline bool is_closed_by_peer(Connection& connection) {
  std::array<std::byte, 64> ignored{};
  while (true) {
    const auto outcome = connection.read(ignored).outcome;
    if (outcome == Connection::Outcome::closed || outcome == Connection::Outcome::failed) {
      return true;
    }
    pollfd ready{.fd = connection.socket(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, 60'000) != 1) return false;
  }
}

// Addresses of a wire at `place`. Of two wires, the one whose address is less opens the connection:
// this one to the address, or the one at the address to this.
inline std::string address_after(const Wire& opening, const std::string& place,
                                 Transport transport = Transport::tcp) {
  std::string address;
  do address = new_address_text({.transport = name_of(transport), .place = place});
  while (address <= opening.address());
  return address;
}
inline std::string address_before(const Wire& awaiting, const std::string& place,
                                  Transport transport) {
  std::string address;
  do address = new_address_text({.transport = name_of(transport), .place = place});
  while (address >= awaiting.address());
  return address;
}
// Makes `end` anew until it is the one that opens the connection to `address`.
inline void make_opening(std::optional<WireEnd>& end, Transport transport,
                         const std::string& address) {
  do end.emplace(1, transport);
  while (end->wire().address() > address);
}

}  // namespace troupe::testing
