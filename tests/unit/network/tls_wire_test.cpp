// Peers of a TlsWire that have a certificate, and do wrong all the same.
#include "core/network/frame_stream.hpp"
#include "tests/unit/network/wire_end.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <poll.h>

BOOST_AUTO_TEST_SUITE(tls_wire)
namespace {

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

// A port, and a wire behind it that can be replaced.
class Node {
 public:
  Node()
      : tls_(tls_files_in(certificates())),
        acceptor_(
            {.tls = tls_},
            [this](Purpose, Connection connection) { entry_.accept(std::move(connection)); },
            [](const std::string&, const std::string&) {}) {
    start_wire();
  }

  void start_wire() {
    wire_.reset();
    wire_ = std::make_unique<TlsWire>(
        listener_, entry_,
        TlsWireOptions{.tls = tls_, .place = fmt::format("127.0.0.1:{}", acceptor_.port())});
  }
  Wire& wire() { return *wire_; }
  // A connection to this port that has been accepted.
  Connection open() const {
    return open_connection({"127.0.0.1", acceptor_.port()}, Purpose::tensors, &tls_, 10s, nullptr);
  }
  Frame hello(const std::string& text) const {
    return {.kind = Frame::Kind::hello, .header = {.bytes = text.size()}};
  }

 private:
  // Drops what comes.
  class Listener final : public WireListener {
   public:
    explicit Listener(const Node& node) : node_(node) {}
    void arrived(const ChunkHeader&, ArrivedChunk chunk) override { node_.wire_->drop(chunk); }
    void lost(NodeId, const std::string&) override {}

   private:
    const Node& node_;
  };

  Listener listener_{*this};
  const TlsContext tls_;
  TensorEntry entry_;
  Acceptor acceptor_;
  std::unique_ptr<TlsWire> wire_;
};

// Waits until the other end has closed the connection.
bool is_closed(Connection& connection) {
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

void write(Connection& connection, const Frame& frame, const std::string& text = {}) {
  connection.write(std::as_bytes(std::span(&frame, 1)));
  if (!text.empty()) connection.write(std::as_bytes(std::span(text)));
}

void check_works(Node& node) {
  WireEnd end(1, Transport::tls);
  const auto bytes = bytes_of(0, 100);
  end.wire().connect(NodeId{0}, node.wire().address());
  end.send(NodeId{0}, 0, bytes);
  BOOST_TEST(end.sends().wait());
  BOOST_TEST(end.sends().failed() == 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_against_the_protocol_close_their_connection_only) {
  Node node;
  const std::string text = node.wire().address() + "\nsomebody";
  const auto bytes_max = std::uint64_t{1} << 62;
  const std::vector<std::function<void(Connection&)>> offences = {
      [](Connection& c) { write(c, {.kind = Frame::Kind::chunk}); },
      [](Connection& c) { write(c, {.kind = Frame::Kind::acknowledge, .number = 7}); },
      [](Connection& c) { write(c, {.kind = static_cast<Frame::Kind>(99)}); },
      [](Connection& c) { write(c, {.kind = Frame::Kind::hello, .header = {.bytes = 5000}}); },
      [&](Connection& c) { write(c, node.hello("nobody\nelse"), "nobody\nelse"); },
      [&](Connection& c) {
        write(c, node.hello(text), text);
        write(c, {.kind = Frame::Kind::chunk, .header = {.bytes = bytes_max}});
      },
      [&](Connection& c) {
        write(c, node.hello(text), text);
        write(c, {.kind = Frame::Kind::chunk, .header = {.bytes = ~std::uint64_t{0}}});
      },
      [&](Connection& c) {
        write(c, node.hello(text), text);
        write(c, node.hello(text), text);
      },
  };
  for (const auto& offend : offences) {
    Connection connection = node.open();
    offend(connection);
    BOOST_TEST(is_closed(connection));
  }
  check_works(node);
}

BOOST_AUTO_TEST_CASE(the_address_of_a_wire_that_is_gone_leads_to_no_other_wire) {
  Node node;
  const std::string old = node.wire().address();
  node.start_wire();
  WireEnd end(1, Transport::tls);
  end.wire().connect(NodeId{0}, old);
  BOOST_TEST((end.wait_for_loss() == std::vector{NodeId{0}}));
}

BOOST_AUTO_TEST_CASE(a_node_that_can_not_be_reached_is_lost) {
  WireEnd end(1, Transport::tls);
  std::string address;
  {
    Node node;
    address = node.wire().address();
  }
  const auto bytes = bytes_of(0, 100'000);
  end.wire().connect(NodeId{0}, address);
  end.send(NodeId{0}, 0, bytes);
  BOOST_TEST((end.wait_for_loss() == std::vector{NodeId{0}}));
  BOOST_TEST(end.sends().wait());
  BOOST_TEST(end.sends().failed() == 1);
}

BOOST_AUTO_TEST_SUITE_END()
