// Who comes to a port: peers, and all the others.
#include "core/network/acceptor.hpp"

#include "core/network/introduction.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/unit/network/any_wire.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(acceptor)
namespace {

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;
using Outcome = Connection::Outcome;

TlsContext new_context() {
  const TemporaryDirectory folder;
  make_certificates(folder.path());
  return TlsContext(tls_files_in(folder.path()));
}

// An acceptor, and what has come to it.
class Port {
 public:
  explicit Port(std::optional<TlsContext> tls = {}, std::size_t pending_max = 256,
                Duration patience = 60s)
      : acceptor_(
            {.tls = std::move(tls), .pending_max = pending_max, .patience = patience},
            [this](Purpose purpose, Connection connection) {
              const std::lock_guard lock(mutex_);
              purposes_.push_back(purpose);
              connections_.push_back(std::move(connection));
              changed_.notify_all();
            },
            [this](const std::string& peer, const std::string& cause) {
              const std::lock_guard lock(mutex_);
              refused_peers_.push_back(peer);
              causes_.push_back(cause);
              changed_.notify_all();
            }) {}

  HostPort address() const { return {"127.0.0.1", acceptor_.port()}; }
  Connection open(Purpose purpose, const TlsContext* tls = nullptr) const {
    return open_connection(address(), purpose, tls, 10s, nullptr);
  }
  std::vector<Purpose> wait_for_accepted(std::size_t count) {
    std::unique_lock lock(mutex_);
    BOOST_TEST(changed_.wait_for(lock, 60s, [&] { return purposes_.size() >= count; }));
    return purposes_;
  }
  std::string wait_for_refusal() {
    std::unique_lock lock(mutex_);
    BOOST_TEST(changed_.wait_for(lock, 60s, [&] { return !causes_.empty(); }));
    return causes_.back();
  }
  const std::string& last_refused_peer() const { return refused_peers_.back(); }
  Connection& last() { return connections_.back(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Purpose> purposes_;
  std::vector<Connection> connections_;
  std::vector<std::string> causes_;
  std::vector<std::string> refused_peers_;
  Acceptor acceptor_;
};

// A connection without any words.
class Stranger {
 public:
  explicit Stranger(const Port& port) : socket_(connect_to(port.address(), 10s)) {}
  ~Stranger() { close(socket_); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  void say(const std::string& text) const { send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Waits until the other end has closed the connection.
  bool is_closed() const {
    std::array<char, 256> ignored{};
    while (true) {
      pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, 60'000) <= 0) return false;
      if (recv(socket_, ignored.data(), ignored.size(), 0) <= 0) return true;
    }
  }

 private:
  const int socket_;
};

// Reads until there is something.
std::string read_from(Connection& connection) {
  std::array<std::byte, 64> bytes{};
  while (true) {
    const Connection::Result result = connection.read(bytes);
    if (result.outcome == Outcome::done) {
      return {reinterpret_cast<const char*>(bytes.data()), result.bytes};
    }
    if (result.outcome != Outcome::wants_read) return connection.failure();
    pollfd ready{.fd = connection.socket(), .events = POLLIN, .revents = 0};
    poll(&ready, 1, 60'000);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(connections_are_accepted_for_their_purpose) {
  const TlsContext tls = new_context();
  for (const bool is_encrypted : {false, true}) {
    const TlsContext* const context = is_encrypted ? &tls : nullptr;
    Port port(is_encrypted ? std::optional(tls) : std::nullopt);
    const Connection first = port.open(Purpose::tensors, context);
    port.wait_for_accepted(1);
    Connection second = port.open(Purpose::control, context);
    BOOST_TEST((port.wait_for_accepted(2) == std::vector{Purpose::tensors, Purpose::control}));
    const std::string text = "hello";
    second.write(std::as_bytes(std::span(text)));
    BOOST_TEST(read_from(port.last()) == text);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_of_another_authority_is_refused_and_told_so) {
  Port port(new_context());
  const TlsContext other = new_context();
  expect_error(ErrorKind::usage, "its certificate isn't accepted",
               [&] { port.open(Purpose::control, &other); });
  BOOST_TEST(port.wait_for_refusal().find("unknown CA") != std::string::npos);
  // It has closed the connection by then.
  BOOST_TEST(port.last_refused_peer().starts_with("127.0.0.1:"), port.last_refused_peer());
}

BOOST_AUTO_TEST_CASE(both_ends_need_tls) {
  const TlsContext tls = new_context();
  Port plain;
  expect_error(ErrorKind::usage, "with --tls-cert", [&] { plain.open(Purpose::control, &tls); });
  plain.wait_for_refusal();
  Port encrypted(tls);
  // It only closes the connection, as one that ends might.
  expect_error(ErrorKind::failed, "with --tls-cert", [&] { encrypted.open(Purpose::control); });
  encrypted.wait_for_refusal();
}

BOOST_AUTO_TEST_CASE(strangers_are_dropped_and_peers_are_accepted_after_them) {
  const TlsContext tls = new_context();
  for (const bool is_encrypted : {false, true}) {
    Port port(is_encrypted ? std::optional(tls) : std::nullopt);
    for (const std::string& word :
         {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1000, '\xff'), std::string(100, '\0'),
          // The beginning of a TLS record that claims to be long.
          std::string("\x16\x03\x01\xff\xff", 5) + std::string(70'000, 'x')}) {
      const Stranger stranger(port);
      stranger.say(word);
      BOOST_TEST(stranger.is_closed());
    }
    const Connection peer = port.open(Purpose::control, is_encrypted ? &tls : nullptr);
    port.wait_for_accepted(1);
  }
}

BOOST_AUTO_TEST_CASE(who_says_nothing_is_dropped_after_a_while_and_keeps_nobody_waiting) {
  Port port({}, 256, 2s);
  const Stranger silent(port);
  const Stranger half(port);
  half.say("troupe-con");
  const Connection peer = port.open(Purpose::control);
  port.wait_for_accepted(1);
  BOOST_TEST(silent.is_closed());
  BOOST_TEST(half.is_closed());
}

BOOST_AUTO_TEST_CASE(of_very_many_silent_connections_the_oldest_are_dropped) {
  Port port({}, 4);
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(std::make_unique<Stranger>(port));
  for (std::size_t i = 0; i < 16; ++i) BOOST_TEST(strangers[i]->is_closed());
  const Connection peer = port.open(Purpose::control);
  port.wait_for_accepted(1);
}

BOOST_AUTO_TEST_CASE(an_address_or_port_that_can_not_be_had_is_refused) {
  const Port port;
  const auto listen_on = [](const std::string& address, std::uint16_t number) {
    const Acceptor acceptor({.address = address, .port = number}, nullptr, nullptr);
  };
  expect_error(ErrorKind::usage, "the port is in use",
               [&] { listen_on("127.0.0.1", port.address().port); });
  expect_error(ErrorKind::usage, "give an address of this host",
               [&] { listen_on("192.0.2.1", 0); });  // of no host: RFC 5737
}

BOOST_AUTO_TEST_SUITE_END()
