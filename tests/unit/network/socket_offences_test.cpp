// What a Wire over sockets does about peers that have a certificate, if it wants one, and do wrong
// all the same.
#include "core/network/host_port.hpp"
#include "core/network/introduction.hpp"
#include "core/network/wire_address.hpp"
#include "tests/unit/network/socket_node.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(socket_offences)
namespace {

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

void check_works(SocketNode& node, Transport transport) {
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
    SocketNode node(transport);
    const std::string text = hello_text(node.wire());
    const auto after_hello = [&](const Frame& frame, const std::string& bytes = {}) {
      return [text, frame, bytes](Connection& connection) {
        write_frame(connection, hello(text), text);
        write_frame(connection, frame, bytes);
      };
    };
    const auto saying = [&](const std::string& words) {
      return [words](Connection& connection) { write_frame(connection, hello(words), words); };
    };
    using Kind = Frame::Kind;
    const std::vector<std::function<void(Connection&)>> offences = {
        [](Connection& c) { write_frame(c, {.kind = Kind::chunk}); },
        [](Connection& c) {
          write_frame(c, {.kind = Kind::chunk, .header = {.bytes = 7}}, "seven b");
        },
        [](Connection& c) { write_frame(c, {.kind = Kind::offer, .header = {.bytes = 7}}); },
        [](Connection& c) { write_frame(c, {.kind = static_cast<Kind>(99)}); },
        [](Connection& c) { write_frame(c, {.kind = Kind::hello}); },
        [](Connection& c) { write_frame(c, {.kind = Kind::hello, .header = {.bytes = 5000}}); },
        saying("nobody\nelse"),
        saying(node.wire().address()),
        saying(node.wire().address() + "\n"),
        saying(node.wire().address() + "\nsomebody"),
        saying(node.wire().address() + "\nsomebody\n"),
        saying(node.wire().address() + "\n\nkey"),
        [text](Connection& c) { write_frame(c, hello_for_parts(text), text); },
        [text](Connection& c) {
          write_frame(c, {.kind = Kind::hello, .number = 2, .header = {.bytes = text.size()}},
                      text);
        },
        after_hello({.kind = Kind::welcome}),
        after_hello(hello(text), text),
        after_hello({.kind = static_cast<Kind>(99)}),
        after_hello({.kind = Kind::want, .number = 7}),
        after_hello({.kind = Kind::decline, .number = 7}),
        after_hello({.kind = Kind::chunk, .header = {.bytes = 1 << 20}}),
        after_hello({.kind = Kind::chunk, .header = {.bytes = ~std::uint64_t{0}}}),
        after_hello({.kind = Kind::offer}),
        after_hello({.kind = Kind::offer, .number = 1, .header = {.bytes = 100'000}}),
        after_hello({.kind = Kind::offer, .header = {.bytes = std::uint64_t{1} << 62}}),
        after_hello({.kind = Kind::offer, .header = {.bytes = ~std::uint64_t{0}}}),
        after_hello({.kind = Kind::part, .number = 7}),
        after_hello({.kind = Kind::part, .number = 7, .header = {.bytes = 7}}, "seven b"),
    };
    for (std::size_t i = 0; i < offences.size(); ++i) {
      Connection connection = node.open();
      offences[i](connection);
      BOOST_TEST(is_closed_by_peer(connection), "offence " << i);
    }
    check_works(node, transport);
  });
}

BOOST_AUTO_TEST_CASE(a_connection_that_says_nothing_is_closed) {
  for_each_socket_wire([](Transport transport) {
    SocketNode node(transport, 3s);
    Connection connection = node.open();
    std::this_thread::sleep_for(100ms);
    Connection later = node.open();
    BOOST_TEST(is_closed_by_peer(connection));
    BOOST_TEST(is_closed_by_peer(later));
    check_works(node, transport);
  });
}

// They would take all descriptors.
BOOST_AUTO_TEST_CASE(of_many_connections_without_a_hello_the_oldest_is_closed) {
  for_each_socket_wire([](Transport transport) {
    SocketNode node(transport, 10min);
    std::vector<Connection> strangers;
    for (int i = 0; i < 260; ++i) strangers.push_back(node.open());
    BOOST_TEST(is_closed_by_peer(strangers.front()));
    check_works(node, transport);
  });
}

// The parts of a chunk that was offered and not yet taken.
BOOST_AUTO_TEST_CASE(bytes_that_nobody_wants_close_their_connection) {
  for_each_socket_wire([](Transport transport) {
    SocketNode node(transport);
    const std::string text = hello_text(node.wire());
    Connection connection = node.open();
    write_frame(connection, hello(text), text);
    write_frame(connection,
                {.kind = Frame::Kind::offer, .number = 0, .header = {.bytes = 1 << 20}});
    write_frame(connection, {.kind = Frame::Kind::part, .number = 0, .header = {.bytes = 4}},
                "four");
    BOOST_TEST(is_closed_by_peer(connection));
    check_works(node, transport);
  });
}

BOOST_AUTO_TEST_CASE(parts_that_do_not_follow_each_other_close_their_connection) {
  for_each_socket_wire([](Transport transport) {
    const auto part = [](std::uint64_t offset, std::uint64_t bytes) {
      return Frame{
          .kind = Frame::Kind::part, .number = 0, .header = {.offset = offset, .bytes = bytes}};
    };
    SocketNode node(transport);
    const std::string text = hello_text(node.wire());
    const std::vector<std::vector<Frame>> offences = {{part(0, taken_bytes + 4)},
                                                      {part(4, 4)},
                                                      {part(0, 4), part(0, 4)},
                                                      {part(0, 4), part(8, 4)}};
    for (std::size_t i = 0; i < offences.size(); ++i) {
      Connection connection = node.open();
      write_frame(connection, hello(text), text);
      write_frame(connection,
                  {.kind = Frame::Kind::offer, .number = 0, .header = {.bytes = taken_bytes}});
      for (const Frame& frame : offences[i]) write_frame(connection, frame, "four");
      BOOST_TEST(is_closed_by_peer(connection), "offence " << i);
    }
    check_works(node, transport);
  });
}

// A node that has offered a chunk, which is wanted, and has a second connection for its parts.
struct Offering {
  explicit Offering(SocketNode& node) : first(node.open()), text(hello_text(node.wire())) {
    write_frame(first, hello(text), text);
    write_frame(first, {.kind = Frame::Kind::offer, .number = 0, .header = {.bytes = taken_bytes}});
    const std::optional<ReadFrame> answer = read_frame(first);
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST((answer->frame.kind == Frame::Kind::want));
  }
  Connection open_second(const SocketNode& node) const {
    Connection second = node.open();
    write_frame(second, hello_for_parts(text), text);
    const std::optional<ReadFrame> answer = read_frame(second);
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST((answer->frame.kind == Frame::Kind::welcome));
    return second;
  }

  Connection first;
  std::string text;
};

BOOST_AUTO_TEST_CASE(a_connection_for_parts_takes_nothing_else_and_both_are_closed) {
  for_each_socket_wire([](Transport transport) {
    using Kind = Frame::Kind;
    SocketNode node(transport);
    const auto part = [](std::uint32_t number, std::uint64_t offset) {
      return Frame{.kind = Kind::part, .number = number, .header = {.offset = offset, .bytes = 4}};
    };
    const std::vector<Frame> offences = {
        {.kind = Kind::chunk, .header = {.bytes = 4}},
        {.kind = Kind::chunk},
        {.kind = Kind::offer, .number = 1, .header = {.bytes = taken_bytes}},
        {.kind = Kind::want, .number = 0},
        {.kind = Kind::decline, .number = 0},
        {.kind = Kind::welcome},
        {.kind = static_cast<Kind>(99)},
        hello_for_parts("four"),
        part(1, 0),
        part(0, 4),
    };
    for (std::size_t i = 0; i < offences.size(); ++i) {
      Offering offering(node);
      Connection second = offering.open_second(node);
      write_frame(second, offences[i], offences[i].following_bytes() > 0 ? "four" : "");
      BOOST_TEST(is_closed_by_peer(second), "offence " << i);
      BOOST_TEST(is_closed_by_peer(offering.first), "offence " << i);
    }
    check_works(node, transport);
  });
}

BOOST_AUTO_TEST_CASE(the_parts_of_a_chunk_that_come_over_two_connections_close_both) {
  for_each_socket_wire([](Transport transport) {
    SocketNode node(transport);
    Offering offering(node);
    Connection second = offering.open_second(node);
    const Frame part{
        .kind = Frame::Kind::part, .number = 0, .header = {.offset = 0, .bytes = taken_bytes}};
    write_frame(offering.first, part, "the first of it");
    // Whichever of the two is read first.
    write_frame(second, part, std::string(taken_bytes, '.'));
    write_frame(offering.first, part, std::string(taken_bytes, '.'));
    BOOST_TEST(is_closed_by_peer(second));
    BOOST_TEST(is_closed_by_peer(offering.first));
    check_works(node, transport);
  });
}

BOOST_AUTO_TEST_CASE(a_connection_for_parts_without_the_key_of_the_first_is_closed) {
  for_each_socket_wire([](Transport transport) {
    SocketNode node(transport);
    Offering offering(node);
    const std::string other_key = offering.text + "s";
    Connection intruder = node.open();
    write_frame(intruder, hello_for_parts(other_key), other_key);
    BOOST_TEST(is_closed_by_peer(intruder));
    const Connection second = offering.open_second(node);  // its place is free
  });
}

BOOST_AUTO_TEST_CASE(a_second_connection_for_parts_is_closed_and_the_first_goes_on) {
  WireEnd end(1, Transport::tcp);
  const HostPort place =
      read_host_port(parse_address_text(end.wire().address(), name_of(Transport::tcp)).place);
  const auto open = [&place] {
    return open_connection(place, Purpose::tensors, nullptr, 10s, nullptr);
  };
  const std::string text = hello_text(end.wire());
  const std::string bytes(taken_bytes, '.');
  Connection first = open();
  write_frame(first, hello(text), text);
  write_frame(first, {.kind = Frame::Kind::offer, .number = 0, .header = {.bytes = taken_bytes}});
  BOOST_TEST(read_frame(first).has_value());
  Connection second = open();
  write_frame(second, hello_for_parts(text), text);
  BOOST_TEST(read_frame(second).has_value());
  Connection third = open();
  write_frame(third, hello_for_parts(text), text);
  BOOST_TEST(is_closed_by_peer(third));
  write_frame(second, {.kind = Frame::Kind::part, .number = 0, .header = {.bytes = taken_bytes}},
              bytes);
  BOOST_TEST(end.takes().wait());
  BOOST_TEST(end.takes().succeeded() == 1);
}

BOOST_AUTO_TEST_CASE(a_connection_for_parts_is_closed_with_the_first) {
  for_each_socket_wire([](Transport transport) {
    SocketNode node(transport);
    std::optional<Offering> offering(std::in_place, node);
    Connection second = offering->open_second(node);
    offering.reset();
    BOOST_TEST(is_closed_by_peer(second));
  });
}

// The wire whose address is less opens connections.
BOOST_AUTO_TEST_CASE(a_connection_for_parts_from_a_node_that_should_wait_for_one_is_closed) {
  for_each_socket_wire([](Transport transport) {
    SocketNode node(transport);
    const std::string text = node.wire().address() + "\n~somebody\nkey";
    Connection first = node.open();
    write_frame(first, hello(text), text);
    write_frame(first, {.kind = Frame::Kind::offer, .number = 0, .header = {.bytes = taken_bytes}});
    BOOST_TEST(read_frame(first).has_value());
    Connection second = node.open();
    write_frame(second, hello_for_parts(text), text);
    BOOST_TEST(is_closed_by_peer(second));
  });
}

// A node that answers what it wasn't asked.
BOOST_AUTO_TEST_CASE(an_answer_to_no_offer_loses_the_node) {
  for (const auto kind : {Frame::Kind::want, Frame::Kind::decline, Frame::Kind::hello}) {
    OpenPort port;
    WireEnd end(1, Transport::tcp);
    end.wire().connect(NodeId{0}, address_after(end.wire(), port.place()));
    Connection connection = port.next_connection();
    write_frame(connection, {.kind = kind, .number = 5});
    BOOST_TEST((end.wait_for_loss() == std::vector{NodeId{0}}));
  }
}

// Its kernel answers, and its buffers are full.
BOOST_AUTO_TEST_CASE(a_node_that_takes_nothing_for_too_long_is_lost) {
  OpenPort port;
  const auto bytes = bytes_of(0, 30'000);
  SocketNode node(Transport::tcp, 10s, 1s);
  node.wire().connect(NodeId{0}, address_after(node.wire(), port.place()));
  const Connection connection = port.next_connection();
  for (int i = 0; i < 1000; ++i) {
    node.wire().send(NodeId{0}, {.bytes = bytes.size()}, bytes.data(), [](const std::string&) {});
  }
  BOOST_TEST(node.is_lost_within(60s));
}

BOOST_AUTO_TEST_SUITE_END()
