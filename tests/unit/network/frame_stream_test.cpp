// The order in which a FrameStream sends.
#include "core/network/frame_stream.hpp"

#include "tests/unit/network/wire_end.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>

BOOST_AUTO_TEST_SUITE(frame_stream)
namespace {

using namespace troupe;
using namespace troupe::testing;

}  // namespace

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
