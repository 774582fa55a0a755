// How a Wire over sockets comes to its connections.
#include "core/network/host_port.hpp"
#include "core/network/introduction.hpp"
#include "core/network/wire_address.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/silent_host.hpp"
#include "tests/unit/network/socket_node.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

BOOST_AUTO_TEST_SUITE(socket_connections)
namespace {

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

// To node 1. Waits for the end; empty: it has succeeded.
std::string failure_of_send(Wire& wire, const std::vector<std::byte>& bytes) {
  const auto sent = std::make_shared<std::promise<std::string>>();
  wire.send(NodeId{1}, {.bytes = bytes.size()}, bytes.data(),
            [sent](const std::string& failure) { sent->set_value(failure); });
  std::future<std::string> failure = sent->get_future();
  BOOST_REQUIRE((failure.wait_for(60s) == std::future_status::ready));
  return failure.get();
}

// A wire that has opened a connection to this test, and wants a chunk of 100,000 bytes of it.
class WantingEnd {
 public:
  explicit WantingEnd(Transport transport)
      : transport_(transport), port_(transport), end_(1, transport) {
    end_.wire().connect(NodeId{0}, address_);
    first_.emplace(port_.next_connection());
    const std::optional<ReadFrame> read = read_frame(*first_);
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST(read->text.starts_with(address_ + "\n" + end_.wire().address() + "\n"));
    hello_ = read->text;
  }
  WireEnd& end() { return end_; }
  OpenPort& port() { return port_; }
  Connection& first() { return *first_; }
  void offer(std::uint32_t number) {
    write_frame(*first_,
                {.kind = Frame::Kind::offer, .number = number, .header = {.bytes = bytes.size()}});
    const std::optional<ReadFrame> answer = read_frame(*first_);
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST((answer->frame.kind == Frame::Kind::want));
  }
  // After an offer.
  Connection second() {
    Connection connection = port_.next_connection();
    const std::optional<ReadFrame> read = read_frame(connection);
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST(read->frame.number == 1U);
    BOOST_TEST(read->text == hello_);
    return connection;
  }
  void send_part(Connection& connection, std::uint32_t number) const {
    write_frame(connection,
                {.kind = Frame::Kind::part, .number = number, .header = {.bytes = bytes.size()}},
                bytes);
  }

  // Whether the parts of a chunk of the wire come there.
  bool is_sent_over(Connection& connection) {
    end_.send(NodeId{0}, 0, chunk_);
    const std::optional<ReadFrame> offer = read_frame(*first_);
    BOOST_TEST_REQUIRE(offer.has_value());
    BOOST_TEST((offer->frame.kind == Frame::Kind::offer));
    write_frame(*first_, {.kind = Frame::Kind::want, .number = offer->frame.number});
    const std::optional<ReadFrame> part = read_frame(connection);
    return part && part->frame.kind == Frame::Kind::part && part->text.size() == chunk_.size();
  }

  const std::string bytes = std::string(100'000, 'x');

 private:
  const std::vector<std::byte> chunk_ = bytes_of(0, 70'000);
  const Transport transport_;
  OpenPort port_;
  WireEnd end_;
  const std::string address_ = address_after(end_.wire(), port_.place(), transport_);
  std::optional<Connection> first_;
  std::string hello_;
};

}  // namespace

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

BOOST_AUTO_TEST_CASE(the_address_of_a_wire_that_is_gone_leads_to_no_other_wire) {
  for_each_socket_wire([](Transport transport) {
    SocketNode node(transport);
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
      SocketNode node(transport);
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

BOOST_AUTO_TEST_CASE(a_node_that_is_connected_gets_no_second_connection) {
  OpenPort port;
  WireEnd end(1, Transport::tcp);
  const std::string address = address_after(end.wire(), port.place());
  end.wire().connect(NodeId{0}, address);
  Connection first = port.next_connection();
  Connection second =
      open_connection(read_host_port(parse_address_text(end.wire().address(), "tcp").place),
                      Purpose::tensors, nullptr, 10s, nullptr);
  const std::string text = end.wire().address() + "\n" + address + "\nkey";
  write_frame(second, {.kind = Frame::Kind::hello, .header = {.bytes = text.size()}}, text);
  BOOST_TEST(is_closed_by_peer(second));
  write_frame(first, {.kind = Frame::Kind::chunk, .header = {.bytes = 4}}, "four");
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
    SocketNode node(transport, 200ms);
    node.wire().connect(NodeId{1}, address_before(node.wire(), "127.0.0.1:1", transport));
    BOOST_TEST(failure_of_send(node.wire(), bytes_of(0, 100)) == "it has not answered for 200 ms");
    BOOST_TEST(node.is_lost_within(60s));
  });
}

// The wire's thread sleeps, and learns of the deadline.
BOOST_AUTO_TEST_CASE(what_a_thread_that_helps_has_sent_fails_in_time_though_it_helps_no_more) {
  for_each_socket_wire([](Transport transport) {
    SocketNode node(transport, 200ms);
    node.wire().connect(NodeId{1}, address_before(node.wire(), "127.0.0.1:1", transport));
    std::this_thread::sleep_for(100ms);
    const auto bytes = bytes_of(0, 100);
    const auto sent = std::make_shared<std::promise<std::string>>();
    node.wire().post(
        [&] {
          node.wire().send(NodeId{1}, {.bytes = bytes.size()}, bytes.data(),
                           [sent](const std::string& failure) { sent->set_value(failure); });
        },
        true);
    node.wire().progress();
    node.wire().leave();
    std::future<std::string> failure = sent->get_future();
    BOOST_TEST_REQUIRE((failure.wait_for(60s) == std::future_status::ready));
    BOOST_TEST(failure.get() == "it has not answered for 200 ms");
    BOOST_TEST(node.is_lost_within(60s));
  });
}

// Its host takes the connection, and nobody answers.
BOOST_AUTO_TEST_CASE(a_small_chunk_is_not_sent_before_its_connection_is_open) {
  for_each_socket_wire([](Transport transport) {
    for (const std::size_t count : {100U, 50'000U}) {
      const SilentHost silent;
      SocketNode node(transport, 200ms);
      node.wire().connect(NodeId{1}, address_after(node.wire(), silent.address(), transport));
      const std::string failure = failure_of_send(node.wire(), bytes_of(0, count));
      BOOST_TEST(failure == "it has not answered for 200 ms", count << " bytes");
      BOOST_TEST(node.is_lost_within(60s));
    }
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

BOOST_AUTO_TEST_CASE(the_bytes_of_large_chunks_have_a_connection_of_their_own) {
  for_each_socket_wire([](Transport transport) {
    WantingEnd wanting(transport);
    wanting.offer(0);
    Connection second = wanting.second();
    write_frame(second, {.kind = Frame::Kind::welcome});
    wanting.send_part(second, 0);
    BOOST_TEST(wanting.end().takes().wait());
    BOOST_TEST(wanting.end().takes().succeeded() == 1);
    // Its own go there as well.
    BOOST_TEST(wanting.is_sent_over(second));
    BOOST_TEST(wanting.end().lost_so_far().empty());
  });
}

BOOST_AUTO_TEST_CASE(as_long_as_a_second_connection_is_not_answered_the_first_is_used) {
  for_each_socket_wire([](Transport transport) {
    WantingEnd wanting(transport);
    wanting.offer(0);
    const Connection second = wanting.second();
    wanting.send_part(wanting.first(), 0);
    BOOST_TEST(wanting.end().takes().wait());
    BOOST_TEST(wanting.end().takes().succeeded() == 1);
    BOOST_TEST(wanting.is_sent_over(wanting.first()));
  });
}

// Its bytes may go nowhere.
BOOST_AUTO_TEST_CASE(a_part_on_a_connection_that_was_not_answered_closes_that_one_only) {
  for_each_socket_wire([](Transport transport) {
    WantingEnd wanting(transport);
    wanting.offer(0);
    Connection second = wanting.second();
    wanting.send_part(second, 0);
    BOOST_TEST(is_closed_by_peer(second));
    wanting.send_part(wanting.first(), 0);
    BOOST_TEST(wanting.end().takes().wait());
    BOOST_TEST(wanting.end().takes().succeeded() == 1);
    BOOST_TEST(wanting.end().lost_so_far().empty());
  });
}

BOOST_AUTO_TEST_CASE(small_chunks_need_one_connection) {
  OpenPort port;
  WireEnd end(1, Transport::tcp);
  end.wire().connect(NodeId{0}, address_after(end.wire(), port.place()));
  Connection first = port.next_connection();
  BOOST_TEST(read_frame(first).has_value());
  const auto bytes = bytes_of(0, 50'000);
  end.send(NodeId{0}, 0, bytes);
  const std::optional<ReadFrame> chunk = read_frame(first);
  BOOST_TEST_REQUIRE(chunk.has_value());
  BOOST_TEST((chunk->frame.kind == Frame::Kind::chunk));
  BOOST_TEST(end.sends().wait());
  BOOST_TEST(connections_to(port.place()) == 1);
}

BOOST_AUTO_TEST_CASE(a_node_whose_connection_for_large_chunks_breaks_is_lost) {
  for_each_socket_wire([](Transport transport) {
    WantingEnd wanting(transport);
    wanting.offer(0);
    {
      Connection second = wanting.second();
      write_frame(second, {.kind = Frame::Kind::welcome});
      wanting.send_part(second, 0);
      BOOST_TEST(wanting.end().takes().wait());
      wanting.offer(1);
    }
    BOOST_TEST((wanting.end().wait_for_loss() == std::vector{NodeId{0}}));
    BOOST_TEST(wanting.end().takes().wait());
    BOOST_TEST(wanting.end().takes().failed() == 1);
    BOOST_TEST(is_closed_by_peer(wanting.first()));
  });
}

BOOST_AUTO_TEST_CASE(where_a_second_connection_is_closed_unanswered_large_chunks_use_the_first) {
  for_each_socket_wire([](Transport transport) {
    WantingEnd wanting(transport);
    wanting.offer(0);
    { const Connection second = wanting.second(); }
    for (const std::uint32_t number : {0U, 1U}) {
      if (number == 1) wanting.offer(number);
      wanting.send_part(wanting.first(), number);
      BOOST_TEST(wanting.end().takes().wait());
    }
    BOOST_TEST(wanting.end().takes().succeeded() == 2);
    BOOST_TEST(wanting.end().lost_so_far().empty());
  });
}

BOOST_AUTO_TEST_CASE(a_node_that_is_lost_loses_a_second_connection_that_is_not_answered) {
  for_each_socket_wire([](Transport transport) {
    WantingEnd wanting(transport);
    wanting.offer(0);
    Connection second = wanting.second();
    wanting.first() = Connection(-1, Connection::Side::client, nullptr);
    BOOST_TEST((wanting.end().wait_for_loss() == std::vector{NodeId{0}}));
    BOOST_TEST(is_closed_by_peer(second));
  });
}

BOOST_AUTO_TEST_CASE(where_a_second_connection_is_refused_large_chunks_use_the_first) {
  for_each_socket_wire([](Transport transport) {
    WantingEnd wanting(transport);
    wanting.port().close();
    for (const std::uint32_t number : {0U, 1U}) {
      wanting.offer(number);
      wanting.send_part(wanting.first(), number);
      BOOST_TEST(wanting.end().takes().wait());
    }
    BOOST_TEST(wanting.end().takes().succeeded() == 2);
    BOOST_TEST(wanting.end().lost_so_far().empty());
  });
}

BOOST_AUTO_TEST_SUITE_END()
