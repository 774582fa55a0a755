#include "core/backend/network/network_port.hpp"

#include "tests/support/expect_error.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(network_port)
namespace {

// A chunk that has come over a FakeWire.
struct Sent {
  std::string bytes;
};

// A wire whose takings end when the test says so.
class FakeWire final : public Wire {
 public:
  struct Taking {
    Sent* chunk;
    std::byte* target;
    ChunkDone done;
  };

  std::string address() const override { return {}; }
  void connect(NodeId, const std::string&) override {}
  void send(NodeId, const ChunkHeader&, const std::byte*, ChunkDone done) override {
    sending.push_back(std::move(done));
  }
  bool take(ArrivedChunk chunk, std::byte* target, ChunkDone done) override {
    auto* const sent = static_cast<Sent*>(chunk);
    if (takes_at_once) {
      std::memcpy(target, sent->bytes.data(), sent->bytes.size());
      return true;
    }
    taking.push_back({sent, target, std::move(done)});
    return false;
  }
  void drop(ArrivedChunk chunk) override { dropped.push_back(static_cast<Sent*>(chunk)); }
  bool post(std::function<void()> function, bool) override {
    posted.push_back(std::move(function));
    return true;
  }
  bool progress() override {
    ++progressed;
    return true;
  }
  void leave() override { ++left; }

  void end_taking(const std::string& failure = {}) { end_taking_at(0, failure); }
  void end_taking_at(std::size_t place, const std::string& failure = {}) {
    const Taking next = std::move(taking[place]);
    taking.erase(taking.begin() + static_cast<std::ptrdiff_t>(place));
    if (failure.empty()) {
      std::memcpy(next.target, next.chunk->bytes.data(), next.chunk->bytes.size());
    }
    next.done(failure);
  }

  std::deque<Taking> taking;
  std::deque<ChunkDone> sending;
  std::vector<Sent*> dropped;
  std::vector<std::function<void()>> posted;
  int progressed = 0;
  int left = 0;
  bool takes_at_once = false;
};

class Ends final : public Completions {
 public:
  void completed(std::uint32_t slot) override { done.push_back(slot); }
  void failed(std::uint32_t, std::string cause) override { causes.push_back(std::move(cause)); }

  std::vector<std::uint32_t> done;
  std::vector<std::string> causes;
};

// A tensor "abcdef" that comes in chunks of two bytes.
struct Tensor {
  FakeWire wire;
  std::vector<std::uint32_t> noticed;  // items
  std::optional<NetworkPort> port{
      std::in_place, wire, 7U, NodeId{1},
      [this](const ChunkMove::Next& item) { noticed.push_back(item.item); }};
  Ends ends;
  std::array<Sent, 3> chunks = {Sent{"ab"}, Sent{"cd"}, Sent{"ef"}};
  std::string buffer = "......";

  void arrive(std::size_t i) {
    port->arrived({.run = 7, .item = 42, .replica = 5, .offset = 2 * i, .bytes = 2}, &chunks[i]);
  }
  std::span<std::byte> as_bytes_of_buffer() { return std::as_writable_bytes(std::span(buffer)); }
  Started::State move(std::size_t i) {
    return port
        ->receive({.from = ReplicaId{5},
                   .to = ReplicaId{6},
                   .offset = 2 * i,
                   .bytes = 2,
                   .first = i == 0,
                   .last = i == 2,
                   .slot = static_cast<std::uint32_t>(i) + 1},
                  as_bytes_of_buffer(), ends)
        .state;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_chunk_waits_until_a_link_moves_it, Tensor) {
  arrive(0);
  BOOST_TEST((noticed == std::vector<std::uint32_t>{42}));
  BOOST_TEST(wire.taking.empty());
  BOOST_TEST((move(0) == Started::State::pending));
  BOOST_TEST(ends.done.empty());
  wire.end_taking();
  BOOST_TEST((ends.done == std::vector<std::uint32_t>{1}));
  BOOST_TEST(buffer == "ab....");
}

BOOST_FIXTURE_TEST_CASE(later_chunks_go_into_the_buffer_as_they_come, Tensor) {
  arrive(0);
  move(0);
  arrive(1);
  arrive(2);
  BOOST_TEST(noticed.size() == 3U);
  for (int i = 0; i < 3; ++i) wire.end_taking();
  BOOST_TEST(buffer == "abcdef");
  BOOST_TEST(ends.done.size() == 1U);
  BOOST_TEST((move(1) == Started::State::finished));
  BOOST_TEST((move(2) == Started::State::finished));
}

BOOST_FIXTURE_TEST_CASE(chunks_that_came_before_the_first_was_moved_follow_it, Tensor) {
  for (std::size_t i = 0; i < 3; ++i) arrive(i);
  BOOST_TEST((move(0) == Started::State::pending));
  BOOST_TEST(wire.taking.size() == 3U);
  wire.end_taking();
  BOOST_TEST((move(1) == Started::State::pending));
  wire.end_taking();
  BOOST_TEST(ends.done.size() == 2U);
  wire.end_taking();
  BOOST_TEST((move(2) == Started::State::finished));
  BOOST_TEST(buffer == "abcdef");
}

BOOST_FIXTURE_TEST_CASE(chunks_may_come_to_their_end_in_any_order, Tensor) {
  for (std::size_t i = 0; i < 3; ++i) arrive(i);
  BOOST_TEST((move(0) == Started::State::pending));
  BOOST_TEST((move(1) == Started::State::pending));
  wire.end_taking_at(2);
  BOOST_TEST((move(2) == Started::State::finished));
  wire.end_taking_at(1);
  wire.end_taking_at(0);
  BOOST_TEST((ends.done == std::vector<std::uint32_t>{2, 1}));
  BOOST_TEST(buffer == "abcdef");
}

BOOST_FIXTURE_TEST_CASE(an_empty_chunk_at_the_end_does_not_hide_those_before_it, Tensor) {
  arrive(0);
  BOOST_TEST((move(0) == Started::State::pending));
  const ChunkMove empty{
      .from = ReplicaId{5}, .to = ReplicaId{6}, .offset = 2, .bytes = 0, .first = false};
  port->receive(empty, as_bytes_of_buffer(), ends);
  wire.end_taking();
  BOOST_TEST((ends.done == std::vector<std::uint32_t>{1}));
}

BOOST_FIXTURE_TEST_CASE(a_chunk_that_fails_while_a_link_waits_fails_there, Tensor) {
  arrive(0);
  move(0);
  wire.end_taking("gone");
  BOOST_TEST(ends.done.empty());
  BOOST_TEST_REQUIRE(ends.causes.size() == 1U);
  BOOST_TEST(ends.causes[0].find("gone") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_chunk_that_has_failed_fails_when_it_is_moved, Tensor) {
  arrive(0);
  move(0);
  arrive(1);
  wire.end_taking();
  wire.end_taking("gone");
  testing::expect_error(ErrorKind::failed, "gone", [&] { move(1); });
}

// Before the buffer is there, and after.
BOOST_FIXTURE_TEST_CASE(bytes_outside_the_tensor_are_not_written, Tensor) {
  Sent outside{"xy"};
  for (const std::uint64_t offset : {std::uint64_t{5}, std::uint64_t{6}, ~std::uint64_t{0}}) {
    port->arrived({.run = 7, .item = 42, .replica = 5, .offset = offset, .bytes = 2}, &outside);
  }
  arrive(0);
  move(0);
  port->arrived({.run = 7, .item = 42, .replica = 5, .offset = 2, .bytes = 5}, &outside);
  BOOST_TEST(wire.taking.size() == 1U);
  wire.end_taking();
  BOOST_TEST(wire.dropped.size() == 4U);
  BOOST_TEST(buffer == "ab....");
  testing::expect_error(ErrorKind::failed, "outside", [&] { move(1); });
}

BOOST_FIXTURE_TEST_CASE(a_notice_without_its_chunk_is_an_error, Tensor) {
  testing::expect_error(ErrorKind::failed, "isn't a part of it", [&] { move(0); });
  arrive(1);
  testing::expect_error(ErrorKind::failed, "isn't a part of it", [&] { move(0); });
}

// Before the buffer is there, and while it is being taken.
BOOST_FIXTURE_TEST_CASE(a_chunk_that_comes_twice_is_dropped_the_second_time, Tensor) {
  arrive(0);
  arrive(0);
  BOOST_TEST((move(0) == Started::State::pending));
  arrive(0);
  BOOST_TEST(wire.dropped.size() == 2U);
  BOOST_TEST(wire.taking.size() == 1U);
  wire.end_taking();
  BOOST_TEST((ends.done == std::vector<std::uint32_t>{1}));
  BOOST_TEST(buffer == "ab....");
}

BOOST_FIXTURE_TEST_CASE(a_chunk_outside_the_tensor_leaves_the_others_to_be_taken, Tensor) {
  Sent outside{"abcdefg"};
  port->arrived({.run = 7, .item = 42, .replica = 5, .offset = 0, .bytes = 7}, &outside);
  arrive(1);
  testing::expect_error(ErrorKind::failed, "outside", [&] { move(0); });
  BOOST_TEST(wire.taking.size() == 1U);
  BOOST_TEST(wire.dropped.size() == 1U);
  wire.end_taking();
  BOOST_TEST(buffer == "..cd..");
}

// Chunks are whole pages: where there are more of them than the tensor needs, the last are empty.
BOOST_FIXTURE_TEST_CASE(empty_chunks_at_the_end_of_a_tensor_arrive_too, Tensor) {
  for (std::size_t i = 0; i < 3; ++i) arrive(i);
  Sent nothing;
  for (int i = 0; i < 2; ++i) {
    port->arrived({.run = 7, .item = 42, .replica = 5, .offset = 6, .bytes = 0}, &nothing);
  }
  BOOST_TEST(noticed.size() == 5U);
  BOOST_TEST(wire.dropped.size() == 2U);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST((move(i) == Started::State::pending));
    wire.end_taking();
  }
  for (const bool is_last : {false, true}) {
    const ChunkMove empty{.from = ReplicaId{5},
                          .to = ReplicaId{6},
                          .offset = 6,
                          .bytes = 0,
                          .first = false,
                          .last = is_last};
    BOOST_TEST(
        (port->receive(empty, as_bytes_of_buffer(), ends).state == Started::State::finished));
  }
  BOOST_TEST(buffer == "abcdef");
}

BOOST_FIXTURE_TEST_CASE(what_no_link_has_moved_is_dropped_with_the_port, Tensor) {
  arrive(0);
  arrive(1);
  port.reset();
  BOOST_TEST(wire.dropped.size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(a_port_that_is_abandoned_has_nothing_called_by_the_wire, Tensor) {
  BOOST_TEST(port->post([] {}, false));
  BOOST_TEST(wire.posted.size() == 1U);
  BOOST_TEST(port->progress());
  BOOST_TEST(wire.progressed == 1);
  port->leave();
  BOOST_TEST(wire.left == 1);
  port->abandon("gone");
  BOOST_TEST(!port->post([] {}, false));
  BOOST_TEST(wire.posted.size() == 1U);
  BOOST_TEST(!port->progress());
  BOOST_TEST(wire.progressed == 1);
  port->leave();
  BOOST_TEST(wire.left == 1);
}

// Who sends them waits for that.
BOOST_FIXTURE_TEST_CASE(chunks_that_no_link_will_move_are_dropped_now_and_later, Tensor) {
  arrive(0);
  move(0);
  arrive(1);  // into the buffer
  Sent other{"xy"};
  port->arrived({.run = 7, .item = 43, .replica = 6, .bytes = 2}, &other);
  port->drop_rest();
  BOOST_TEST((wire.dropped == std::vector<Sent*>{&other}));
  arrive(2);
  BOOST_TEST((wire.dropped == std::vector<Sent*>{&other, &chunks[2]}));
  BOOST_TEST(noticed.size() == 3U);
  for (int i = 0; i < 2; ++i) wire.end_taking();
  BOOST_TEST((ends.done == std::vector<std::uint32_t>{1}));
  BOOST_TEST((move(1) == Started::State::finished));
  BOOST_TEST(port->is_quiet());
}

BOOST_FIXTURE_TEST_CASE(chunks_are_counted_whatever_becomes_of_them, Tensor) {
  port->send(NodeId{0}, {}, nullptr, [](const std::string&) {});
  BOOST_TEST(port->counts().sent == 1U);
  wire.sending.front()({});
  arrive(0);
  move(0);
  arrive(1);
  port->arrived({.run = 7, .item = 43, .replica = 6, .bytes = 0}, &chunks[0]);
  port->drop_rest();
  arrive(2);
  for (int i = 0; i < 2; ++i) wire.end_taking();
  port->abandon("gone");
  Sent late{"xy"};
  port->arrived({.run = 7, .item = 44, .replica = 6, .bytes = 2}, &late);
  BOOST_TEST(port->counts().sent == 1U);
  BOOST_TEST(port->counts().arrived == 5U);
}

BOOST_FIXTURE_TEST_CASE(a_chunk_that_the_wire_copies_at_once_has_moved_at_once, Tensor) {
  wire.takes_at_once = true;
  for (std::size_t i = 0; i < chunks.size(); ++i) arrive(i);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    BOOST_TEST((move(i) == Started::State::finished));
  }
  BOOST_TEST(buffer == "abcdef");
  BOOST_TEST(ends.done.empty());
  BOOST_TEST(port->is_quiet());
}

BOOST_FIXTURE_TEST_CASE(what_is_being_sent_fails_once_however_often_a_port_is_abandoned, Tensor) {
  std::vector<std::string> failures;
  port->send(NodeId{0}, {}, nullptr, [&](const std::string& why) { failures.push_back(why); });
  for (const char* const cause : {"gone", "again", "and again"}) port->abandon(cause);
  BOOST_TEST((failures == std::vector<std::string>{"gone"}));
}

BOOST_FIXTURE_TEST_CASE(a_port_outlives_what_is_under_way, Tensor) {
  arrive(0);
  move(0);
  bool is_sent = false;
  port->send(NodeId{0}, {}, nullptr, [&](const std::string&) { is_sent = true; });
  std::thread end([&] {
    wire.end_taking();
    wire.sending.front()({});
  });
  port.reset();
  BOOST_TEST(is_sent);
  BOOST_TEST(buffer == "ab....");
  end.join();
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
