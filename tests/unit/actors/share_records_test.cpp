#include "actors/nodes/share_records.hpp"

#include "core/run/device_logic.hpp"
#include "core/run/link_logic.hpp"
#include "core/run/records.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/node_message.hpp"
#include "tests/support/share_maker.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(share_records)
namespace {

using testing::cut;
using testing::expect_error;
using testing::make_share;
using testing::read;
using testing::received;
using testing::written;

constexpr ResourceId self{0};

template <class Logic>
Share partly_finished(Logic logic, Share share) {
  logic.on_share(std::move(share));
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t slot = logic.next()->slot;
    logic.on_started(slot, Instant{Duration{10 * i}});
    logic.on_finished(slot, Instant{Duration{10 * i + 5}});
  }
  logic.on_started(logic.next()->slot, Instant{Duration{30}});
  return std::move(logic.progress().take_all().front());
}

void check_records(const Share& share, const Share& worked_on) {
  for (std::uint32_t i = 0; i < worked_on.size(); ++i) {
    BOOST_TEST((share.items[i].start == worked_on.items[i].start));
    BOOST_TEST((share.items[i].end == worked_on.items[i].end));
    BOOST_TEST(share.items[i].track == worked_on.items[i].track);
    if (!worked_on.is_transfer()) continue;
    BOOST_TEST((share.chunks[i].busy == worked_on.chunks[i].busy));
    BOOST_TEST(share.chunks[i].shortest_ns == worked_on.chunks[i].shortest_ns);
    BOOST_TEST(share.chunks[i].here == worked_on.chunks[i].here);
    BOOST_TEST(share.chunks[i].moved == worked_on.chunks[i].moved);
  }
}

BOOST_AUTO_TEST_CASE(records_of_a_partly_finished_share_are_written_to_a_copy_of_it) {
  const testing::Item chunks{.move = Share::Move{.bytes = 8, .chunks = 1}};
  const Share ops = make_share(self, std::vector<testing::Item>(4), 6);
  const Share transfers = make_share(self, std::vector<testing::Item>(4, chunks), 6);
  for (const Share& sent : {ops, transfers}) {
    const Share worked_on = sent.is_transfer()
                                ? partly_finished(LinkLogic(self, Sharing::fifo), sent)
                                : partly_finished(DeviceLogic(self, 1), sent);
    BOOST_TEST_REQUIRE(worked_on.items[1].finished());
    BOOST_TEST_REQUIRE(!worked_on.items[2].finished());
    const ShareRecords records = received(ShareRecords(worked_on));
    BOOST_TEST(records.window() == 6U);
    Share copy = sent;
    records.write_to(copy);
    check_records(copy, worked_on);
    const Share read = SentShare(self, copy).read();
    BOOST_TEST((read.items[2].start == Instant{Duration{30}}));

    // An item that has failed since has not begun; what had finished before stays.
    Share failed = worked_on;
    failed.items[2].start = Share::never;
    failed.items[1].end = Instant{Duration{99}};
    received(ShareRecords(failed)).write_to(copy);
    BOOST_TEST((copy.items[2].start == Share::never));
    BOOST_TEST((copy.items[1].end == Instant{Duration{15}}));
  }
}

BOOST_AUTO_TEST_CASE(records_that_do_not_fit_the_share_are_refused) {
  Share share = make_share(self, std::vector<testing::Item>(4), 6);
  share.items[3].start = Instant{Duration{1}};
  const ShareRecords records = received(ShareRecords(share));
  Share smaller = make_share(self, std::vector<testing::Item>(3), 6);
  Share later = make_share(self, std::vector<testing::Item>(4), 7);
  Share transfers = make_share(self, {4, {.move = Share::Move{}}}, 6);
  for (Share* other : {&smaller, &later, &transfers}) {
    expect_error(ErrorKind::failed, "damaged", [&] { records.write_to(*other); });
  }
  const std::vector<char> whole = written(records);
  for (std::size_t size = 0; size + 8 < whole.size(); ++size) {
    ShareRecords damaged;
    BOOST_TEST_REQUIRE(read(cut(whole, size), damaged));
    expect_error(ErrorKind::failed, "damaged", [&] { damaged.write_to(share); });
  }
}

BOOST_AUTO_TEST_CASE(an_empty_message_of_records_is_refused) {
  Share share;
  expect_error(ErrorKind::failed, "damaged", [&] { received(ShareRecords()).write_to(share); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
