// How a Wire over sockets comes to its connections, and peers that have a certificate, if it wants
// one, and do wrong all the same.
#include "core/network/frame_stream.hpp"
#include "core/network/host_port.hpp"
#include "core/network/wire_address.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/unit/network/wire_end.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

BOOST_AUTO_TEST_SUITE(socket_wire)
namespace {

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

constexpr std::size_t taken_bytes = 100'000;

// A port, and a wire behind it that can be replaced.
class Node {
 public:
  explicit Node(Transport transport, Duration connect_timeout = 10s, Duration silence_max = 20s)
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
                           tls_ ? &*tls_ : nullptr, 10s, nullptr);
  }
  Frame hello(const std::string& text) const {
    return {.kind = Frame::Kind::hello, .header = {.bytes = text.size()}};
  }

 private:
  // Takes chunks of a certain size and leaves larger ones; others it drops.
  class Listener final : public WireListener {
   public:
    explicit Listener(Node& node) : node_(node) {}
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
    Node& node_;
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

std::string place_of(const Acceptor& acceptor) {
  return fmt::format("127.0.0.1:{}", acceptor.port());
}

template <class Test>
void for_each_socket_wire(const Test& test) {
  for (const Transport transport : {Transport::tcp, Transport::tls}) {
    BOOST_TEST_CONTEXT(name_of(transport)) {
      test(transport);
    }
  }
}

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

// Of two wires, the one whose address is less opens the connection.
std::string address_after(const Wire& opening, const std::string& place) {
  std::string address;
  while (address <= opening.address()) {
    address = new_address_text({.transport = "tcp", .place = place});
  }
  return address;
}
// Makes `end` anew until it is the one that opens it.
void make_opening(std::optional<WireEnd>& end, Transport transport, const std::string& address) {
  do end.emplace(1, transport);
  while (end->wire().address() > address);
}

void check_works(Node& node, Transport transport) {
  WireEnd end(1, transport);
  const auto bytes = bytes_of(0, 100);
  end.wire().connect(NodeId{0}, node.wire().address());
  node.wire().connect(NodeId{1}, end.wire().address());
  end.send(NodeId{0}, 0, bytes);
  BOOST_TEST(end.sends().wait());
  BOOST_TEST(end.sends().failed() == 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_against_the_protocol_close_their_connection_only) {
  for_each_socket_wire([](Transport transport) {
    Node node(transport);
    const std::string text = node.wire().address() + "\nsomebody";
    const auto after_hello = [&](const Frame& frame, const std::string& bytes = {}) {
      return [&node, text, frame, bytes](Connection& connection) {
        write(connection, node.hello(text), text);
        write(connection, frame, bytes);
      };
    };
    const auto saying = [&](const std::string& words) {
      return
          [&node, words](Connection& connection) { write(connection, node.hello(words), words); };
    };
    using Kind = Frame::Kind;
    const std::vector<std::function<void(Connection&)>> offences = {
        [](Connection& c) { write(c, {.kind = Kind::chunk}); },
        [](Connection& c) { write(c, {.kind = Kind::chunk, .header = {.bytes = 7}}, "seven b"); },
        [](Connection& c) { write(c, {.kind = Kind::offer, .header = {.bytes = 7}}); },
        [](Connection& c) { write(c, {.kind = static_cast<Kind>(99)}); },
        [](Connection& c) { write(c, {.kind = Kind::hello}); },
        [](Connection& c) { write(c, {.kind = Kind::hello, .header = {.bytes = 5000}}); },
        saying("nobody\nelse"),
        saying(node.wire().address()),
        saying(node.wire().address() + "\n"),
        after_hello(node.hello(text), text),
        after_hello({.kind = static_cast<Kind>(99)}),
        after_hello({.kind = Kind::want, .number = 7}),
        after_hello({.kind = Kind::decline, .number = 7}),
        after_hello({.kind = Kind::chunk, .header = {.bytes = 1 << 20}}),
        after_hello({.kind = Kind::chunk, .header = {.bytes = ~std::uint64_t{0}}}),
        after_hello({.kind = Kind::offer}),
        after_hello({.kind = Kind::offer, .header = {.bytes = std::uint64_t{1} << 62}}),
        after_hello({.kind = Kind::offer, .header = {.bytes = ~std::uint64_t{0}}}),
        after_hello({.kind = Kind::part, .number = 7}),
        after_hello({.kind = Kind::part, .number = 7, .header = {.bytes = 7}}, "seven b"),
    };
    for (std::size_t i = 0; i < offences.size(); ++i) {
      Connection connection = node.open();
      offences[i](connection);
      BOOST_TEST(is_closed(connection), "offence " << i);
    }
    check_works(node, transport);
  });
}

BOOST_AUTO_TEST_CASE(a_connection_that_says_nothing_is_closed) {
  for_each_socket_wire([](Transport transport) {
    Node node(transport, 200ms);
    Connection connection = node.open();
    BOOST_TEST(is_closed(connection));
    check_works(node, transport);
  });
}

// They would take all descriptors.
BOOST_AUTO_TEST_CASE(of_many_connections_without_a_hello_the_oldest_is_closed) {
  for_each_socket_wire([](Transport transport) {
    Node node(transport, 10min);
    std::vector<Connection> strangers;
    for (int i = 0; i < 260; ++i) strangers.push_back(node.open());
    BOOST_TEST(is_closed(strangers.front()));
    check_works(node, transport);
  });
}

BOOST_AUTO_TEST_CASE(an_address_whose_place_has_no_port_is_refused) {
  WireEnd end(1, Transport::tcp);
  for (const char* const place : {"127.0.0.1", ":7420", "127.0.0.1:x", "127.0.0.1:70000"}) {
    const std::string address = new_address_text({.transport = "tcp", .place = place});
    expect_error(ErrorKind::failed, fmt::format("'{}' is not the address of a node", place),
                 [&] { end.wire().connect(NodeId{0}, address); });
  }
}

BOOST_AUTO_TEST_CASE(a_node_whose_place_is_no_number_is_lost) {
  WireEnd end(1, Transport::tcp);
  end.wire().connect(NodeId{0}, address_after(end.wire(), "localhost:7420"));
  BOOST_TEST((end.wait_for_loss() == std::vector{NodeId{0}}));
}

// Its kernel answers, and its buffers are full.
BOOST_AUTO_TEST_CASE(a_node_that_takes_nothing_for_too_long_is_lost) {
  std::promise<Connection> accepted;
  const Acceptor acceptor(
      {}, [&](Purpose, Connection connection) { accepted.set_value(std::move(connection)); },
      [](const std::string&, const std::string&) {});
  const auto bytes = bytes_of(0, 30'000);
  Node node(Transport::tcp, 10s, 1s);
  node.wire().connect(NodeId{0}, address_after(node.wire(), place_of(acceptor)));
  const Connection connection = accepted.get_future().get();
  for (int i = 0; i < 1000; ++i) {
    node.wire().send(NodeId{0}, {.bytes = bytes.size()}, bytes.data(), [](const std::string&) {});
  }
  BOOST_TEST(node.is_lost_within(60s));
}

// The parts of a chunk that was offered and not yet taken.
BOOST_AUTO_TEST_CASE(bytes_that_nobody_wants_close_their_connection) {
  for_each_socket_wire([](Transport transport) {
    Node node(transport);
    const std::string text = node.wire().address() + "\nsomebody";
    Connection connection = node.open();
    write(connection, node.hello(text), text);
    write(connection, {.kind = Frame::Kind::offer, .number = 3, .header = {.bytes = 1 << 20}});
    write(connection, {.kind = Frame::Kind::part, .number = 3, .header = {.bytes = 4}}, "four");
    BOOST_TEST(is_closed(connection));
    check_works(node, transport);
  });
}

// A node that answers what it wasn't asked.
BOOST_AUTO_TEST_CASE(an_answer_to_no_offer_loses_the_node) {
  for (const auto kind : {Frame::Kind::want, Frame::Kind::decline, Frame::Kind::hello}) {
    std::promise<Connection> accepted;
    const Acceptor acceptor(
        {}, [&](Purpose, Connection connection) { accepted.set_value(std::move(connection)); },
        [](const std::string&, const std::string&) {});
    WireEnd end(1, Transport::tcp);
    end.wire().connect(NodeId{0}, address_after(end.wire(), place_of(acceptor)));
    Connection connection = accepted.get_future().get();
    write(connection, {.kind = kind, .number = 5});
    BOOST_TEST((end.wait_for_loss() == std::vector{NodeId{0}}));
  }
}

BOOST_AUTO_TEST_CASE(the_address_of_a_wire_that_is_gone_leads_to_no_other_wire) {
  for_each_socket_wire([](Transport transport) {
    Node node(transport);
    const std::string old = node.wire().address();
    node.start_wire();
    std::optional<WireEnd> end;
    make_opening(end, transport, old);
    end->wire().connect(NodeId{0}, old);
    BOOST_TEST((end->wait_for_loss() == std::vector{NodeId{0}}));
  });
}

BOOST_AUTO_TEST_CASE(a_node_that_can_not_be_reached_is_lost) {
  for_each_socket_wire([](Transport transport) {
    std::string address;
    {
      Node node(transport);
      address = node.wire().address();
    }
    std::optional<WireEnd> end;
    make_opening(end, transport, address);
    const auto bytes = bytes_of(0, 100'000);
    end->wire().connect(NodeId{0}, address);
    end->send(NodeId{0}, 0, bytes);
    BOOST_TEST((end->wait_for_loss() == std::vector{NodeId{0}}));
    BOOST_TEST(end->sends().wait());
    BOOST_TEST(end->sends().failed() == 1);
  });
}

BOOST_AUTO_TEST_CASE(parts_that_do_not_follow_each_other_close_their_connection) {
  for_each_socket_wire([](Transport transport) {
    const auto part = [](std::uint64_t offset, std::uint64_t bytes) {
      return Frame{
          .kind = Frame::Kind::part, .number = 3, .header = {.offset = offset, .bytes = bytes}};
    };
    Node node(transport);
    const std::string text = node.wire().address() + "\nsomebody";
    const std::vector<std::vector<Frame>> offences = {{part(0, taken_bytes + 4)},
                                                      {part(4, 4)},
                                                      {part(0, 4), part(0, 4)},
                                                      {part(0, 4), part(8, 4)}};
    for (std::size_t i = 0; i < offences.size(); ++i) {
      Connection connection = node.open();
      write(connection, node.hello(text), text);
      write(connection,
            {.kind = Frame::Kind::offer, .number = 3, .header = {.bytes = taken_bytes}});
      for (const Frame& frame : offences[i]) write(connection, frame, "four");
      BOOST_TEST(is_closed(connection), "offence " << i);
    }
    check_works(node, transport);
  });
}

BOOST_AUTO_TEST_CASE(a_node_that_is_connected_gets_no_second_connection) {
  std::promise<Connection> accepted;
  const Acceptor acceptor(
      {}, [&](Purpose, Connection connection) { accepted.set_value(std::move(connection)); },
      [](const std::string&, const std::string&) {});
  WireEnd end(1, Transport::tcp);
  const std::string address = address_after(end.wire(), place_of(acceptor));
  end.wire().connect(NodeId{0}, address);
  Connection first = accepted.get_future().get();
  Connection second =
      open_connection(read_host_port(parse_address_text(end.wire().address(), "tcp").place),
                      Purpose::tensors, nullptr, 10s, nullptr);
  const std::string text = end.wire().address() + "\n" + address;
  write(second, {.kind = Frame::Kind::hello, .header = {.bytes = text.size()}}, text);
  BOOST_TEST(is_closed(second));
  write(first, {.kind = Frame::Kind::chunk, .header = {.bytes = 4}}, "four");
  end.wait_for_chunks(1);
  BOOST_TEST(end.lost_so_far().empty());
}

BOOST_AUTO_TEST_CASE(what_is_sent_before_the_other_node_opens_the_connection_goes_in_order) {
  for_each_socket_wire([](Transport transport) {
    WireEnd waiting(0, transport);
    std::optional<WireEnd> opening;
    make_opening(opening, transport, waiting.wire().address());
    const std::array chunks{bytes_of(0, 100), bytes_of(1, 300'000), bytes_of(2, 50'000)};
    waiting.wire().connect(NodeId{1}, opening->wire().address());
    for (std::uint32_t i = 0; i < 3; ++i) waiting.send(NodeId{1}, i, chunks[i]);
    opening->wire().connect(NodeId{0}, waiting.wire().address());
    const auto& arrived = opening->wait_for_chunks(3);
    BOOST_TEST(opening->takes().wait());
    BOOST_TEST(waiting.sends().wait());
    BOOST_TEST(waiting.sends().failed() == 0);
    for (std::uint32_t i = 0; i < 3; ++i) {
      BOOST_TEST(arrived[i].header.item == i);
      BOOST_TEST((arrived[i].bytes == chunks[i]));
    }
  });
}

BOOST_AUTO_TEST_CASE(a_node_that_connects_after_the_other_has_opened_uses_that_connection) {
  for_each_socket_wire([](Transport transport) {
    WireEnd later(0, transport);
    std::optional<WireEnd> opening;
    make_opening(opening, transport, later.wire().address());
    opening->wire().connect(NodeId{0}, later.wire().address());
    const auto bytes = bytes_of(0, 100);
    opening->send(NodeId{0}, 0, bytes);
    later.wait_for_chunks(1);
    BOOST_TEST(opening->sends().wait());
    later.wire().connect(NodeId{1}, opening->wire().address());
    later.send(NodeId{1}, 0, bytes);
    opening->wait_for_chunks(1);
    BOOST_TEST(later.sends().wait());
    BOOST_TEST(later.sends().failed() == 0);
    opening.reset();
    BOOST_TEST((later.wait_for_loss() == std::vector{NodeId{1}}));
  });
}

BOOST_AUTO_TEST_CASE(a_send_to_a_node_that_opens_no_connection_fails_and_the_node_is_lost) {
  for_each_socket_wire([](Transport transport) {
    Node node(transport, 200ms);
    std::string address;
    do {
      address = new_address_text({.transport = name_of(transport), .place = "127.0.0.1:1"});
    } while (address > node.wire().address());
    node.wire().connect(NodeId{1}, address);
    const auto bytes = bytes_of(0, 100);
    std::promise<std::string> sent;
    node.wire().send(NodeId{1}, {.bytes = bytes.size()}, bytes.data(),
                     [&](const std::string& failure) { sent.set_value(failure); });
    std::future<std::string> failure = sent.get_future();
    BOOST_REQUIRE((failure.wait_for(60s) == std::future_status::ready));
    BOOST_TEST(failure.get() == "it has not answered for 200 ms");
    BOOST_TEST(node.is_lost_within(60s));
  });
}

BOOST_AUTO_TEST_CASE(what_waits_for_a_node_that_is_replaced_fails) {
  for_each_socket_wire([](Transport transport) {
    WireEnd waiting(0, transport);
    std::optional<WireEnd> first;
    make_opening(first, transport, waiting.wire().address());
    waiting.wire().connect(NodeId{1}, first->wire().address());
    const auto bytes = bytes_of(0, 100);
    waiting.send(NodeId{1}, 0, bytes);
    WireEnd second(1, transport);
    join(waiting, second);
    BOOST_TEST(waiting.sends().wait());
    BOOST_TEST(waiting.sends().failed() == 1);
    waiting.send(NodeId{1}, 1, bytes);
    BOOST_TEST(second.wait_for_chunks(1).front().header.item == 1U);
    BOOST_TEST(waiting.sends().wait());
    BOOST_TEST(waiting.lost_so_far().empty());
  });
}

BOOST_AUTO_TEST_CASE(what_is_small_goes_before_the_parts_that_are_left) {
  std::array<int, 2> sockets{};
  BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  FrameStream sender(Connection(sockets[0], Connection::Side::client, nullptr));
  FrameStream receiver(Connection(sockets[1], Connection::Side::server, nullptr));
  const auto large = bytes_of(0, 16 << 20);
  const auto small = bytes_of(1, 64);
  std::vector<std::byte> got(large.size());
  std::vector<std::byte> got_small(small.size());
  bool is_sent = false;
  sender.send_parts(7, large, [&](const std::string&) { is_sent = true; });
  BOOST_TEST(sender.wants_write());  // the socket is full
  sender.send({.kind = Frame::Kind::chunk, .header = {.bytes = small.size()}}, small.data());
  const FrameStream::Place place = [&](const Frame& frame) {
    return frame.kind == Frame::Kind::chunk ? got_small.data() : got.data() + frame.header.offset;
  };
  std::size_t received = 0;
  std::size_t before_small = 0;
  while (received < large.size() && receiver.failure().empty()) {
    sender.go_on();
    for (const ChunkDone& done : sender.ended()) done({});
    receiver.is_readable();
    while (receiver.receive(place)) {
      if (receiver.frame().kind == Frame::Kind::chunk) before_small = received;
      if (receiver.frame().kind == Frame::Kind::part) received += receiver.frame().header.bytes;
    }
  }
  BOOST_TEST(is_sent);
  BOOST_TEST(before_small < large.size() / 2);
  BOOST_TEST((got == large));
  BOOST_TEST((got_small == small));
}

BOOST_AUTO_TEST_SUITE_END()
