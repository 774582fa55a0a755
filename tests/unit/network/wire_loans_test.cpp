// Chunks that are lent: the receiver copies them from the memory of the sender.
#include "core/network/wire_address.hpp"
#include "tests/unit/network/wire_end.hpp"

#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(wire_loans)
namespace {

using namespace troupe;
using namespace troupe::testing;
using Answer = WireEnd::Answer;

constexpr std::size_t mib = 1 << 20;

// After this, `a` knows that `b` can read its memory, if it can.
void exchange(WireEnd& a, WireEnd& b) {
  static const auto small = bytes_of(0, 10);
  const std::size_t arrived = a.arrived_so_far();
  b.send(a.node(), 0, small);
  a.wait_for_chunks(arrived + 1);
}

// The address of a Wire that seems to be in a process whose memory can't be read.
std::string without_memory(const std::string& address) {
  WireAddress changed = parse_address_text(address, "shared_memory");
  changed.place = changed.place.substr(0, changed.place.rfind(':')) + ":1-2-3";
  return new_address_text(changed);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_send_of_a_large_chunk_ends_when_it_has_been_taken_or_dropped) {
  WireEnd a(0, Transport::shared_memory);
  WireEnd b(1, Transport::shared_memory, Answer::keep);
  join(a, b);
  exchange(a, b);
  const auto large = bytes_of(1, mib);
  for (std::uint32_t i = 0; i < 4; ++i) a.send(b.node(), i, large);
  auto& kept = b.wait_for_chunks(4);
  exchange(a, b);
  BOOST_TEST(a.sends().succeeded() == 0);
  b.take(kept[0]);
  b.wire().drop(kept[1].handle);
  b.wire().drop(kept[3].handle);
  b.take(kept[2]);
  BOOST_TEST(a.sends().wait());
  BOOST_TEST(b.takes().wait());
  BOOST_TEST(a.sends().succeeded() == 4);
  BOOST_TEST((kept[0].bytes == large));
  BOOST_TEST((kept[2].bytes == large));
}

BOOST_AUTO_TEST_CASE(lent_and_copied_chunks_arrive_in_the_order_in_which_they_were_sent) {
  WireEnd a(0, Transport::shared_memory);
  WireEnd b(1, Transport::shared_memory);
  join(a, b);
  exchange(a, b);
  constexpr std::uint32_t count = 300;
  std::vector<std::vector<std::byte>> sent;
  for (std::uint32_t i = 0; i < count; ++i) {
    sent.push_back(bytes_of(i, i % 3 == 0 ? 100 : i % 3 == 1 ? 100'000 : 32 << 10));
  }
  for (std::uint32_t i = 0; i < count; ++i) a.send(b.node(), i, sent[i]);
  const auto& chunks = b.wait_for_chunks(count);
  BOOST_TEST(a.sends().wait());
  BOOST_TEST(b.takes().wait());
  for (std::uint32_t i = 0; i < count; ++i) {
    BOOST_TEST(chunks[i].header.item == i);
    BOOST_TEST((chunks[i].bytes == sent[i]));
  }
}

BOOST_AUTO_TEST_CASE(chunks_are_copied_for_a_node_that_can_t_read_the_memory) {
  WireEnd a(0, Transport::shared_memory);
  WireEnd b(1, Transport::shared_memory, Answer::keep);
  a.wire().connect(b.node(), b.wire().address());
  b.wire().connect(a.node(), without_memory(a.wire().address()));
  exchange(a, b);
  const auto large = bytes_of(1, mib);
  a.send(b.node(), 1, large);
  BOOST_TEST(a.sends().wait());
  auto& kept = b.wait_for_chunks(1);
  b.take(kept[0]);
  BOOST_TEST(b.takes().wait());
  BOOST_TEST((kept[0].bytes == large));
}

BOOST_AUTO_TEST_CASE(
    a_chunk_that_was_lent_by_a_wire_that_is_replaced_is_not_given_back_to_the_new_one) {
  WireEnd b(1, Transport::shared_memory, Answer::keep);
  const auto large = bytes_of(1, mib);
  WireEnd first(0, Transport::shared_memory);
  join(first, b);
  exchange(first, b);
  first.send(b.node(), 1, large);
  auto& kept = b.wait_for_chunks(1);

  WireEnd second(0, Transport::shared_memory);
  join(second, b);
  exchange(second, b);
  second.send(b.node(), 2, large);
  b.wait_for_chunks(2);
  b.wire().drop(kept[0].handle);
  exchange(second, b);
  BOOST_TEST(second.sends().succeeded() == 0);
  b.wire().drop(kept[1].handle);
  BOOST_TEST(second.sends().wait());
  BOOST_TEST(second.sends().succeeded() == 1);
}

// It is copied in many parts, and the connection changes between two of them.
BOOST_AUTO_TEST_CASE(a_loan_that_is_being_copied_ends_with_its_connection_and_later_ones_do_not) {
  WireEnd b(1, Transport::shared_memory, Answer::keep);
  const auto large = bytes_of(1, 64 * mib);
  WireEnd first(0, Transport::shared_memory);
  join(first, b);
  exchange(first, b);
  first.send(b.node(), 1, large);
  auto& kept = b.wait_for_chunks(1);
  WireEnd second(0, Transport::shared_memory);
  const std::string address = second.wire().address();
  std::promise<void> taken;
  b.wire().post(
      [&] {
        b.take(kept[0]);
        taken.set_value();
        b.wire().post([&] { b.wire().connect(second.node(), address); }, false);
      },
      false);
  taken.get_future().wait();
  BOOST_TEST(b.takes().wait());
  BOOST_TEST(b.takes().failed() == 1);
  second.wire().connect(b.node(), b.wire().address());
  exchange(second, b);
  second.send(b.node(), 2, large);
  b.take(b.wait_for_chunks(2)[1]);
  BOOST_TEST(second.sends().wait());
  BOOST_TEST(b.takes().wait());
  BOOST_TEST(b.takes().succeeded() == 1);
  BOOST_TEST((kept[1].bytes == large));
}

BOOST_AUTO_TEST_SUITE_END()
