#include "core/run/records.hpp"

#include "core/run/device_logic.hpp"
#include "core/run/link_logic.hpp"
#include "tests/support/share_maker.hpp"

#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(records)
namespace {

using testing::Item;
using testing::make_share;

constexpr ResourceId self{0};

BOOST_AUTO_TEST_CASE(a_share_that_was_sent_is_read_with_what_has_finished_and_what_is_under_way) {
  Share share = make_share(self, {{}, {}, {}, {}}, 3, true, 7);
  share.inputs = {ReplicaId{1}, ReplicaId{2}};
  share.items[1].first_input = 1;
  for (std::size_t i = 2; i < share.items.size(); ++i) share.items[i].first_input = 2;
  const SentShare sent(self, share);
  DeviceLogic logic(self, 2);
  logic.on_share(std::move(share));
  for (int i = 0; i < 2; ++i) logic.on_started(logic.next()->slot, Instant{Duration{i}});
  logic.on_finished(1, Instant{Duration{5}});
  logic.on_started(logic.next()->slot, Instant{Duration{6}});
  logic.on_failed(1);

  const Share read = sent.read();
  BOOST_TEST((sent.resource() == self));
  BOOST_TEST(read.window == 3U);
  BOOST_TEST(read.timed);
  BOOST_TEST_REQUIRE(read.size() == 4U);
  for (std::uint32_t i = 0; i < 4; ++i) BOOST_TEST((read.items[i].unit == UnitId{7 + i}));
  BOOST_TEST(read.inputs_of(0).size() == 1U);
  BOOST_TEST((read.inputs_of(1)[0] == ReplicaId{2}));
  const auto is_under_way = [&](std::uint32_t i) {
    return read.items[i].start != Share::never && !read.items[i].finished();
  };
  BOOST_TEST(is_under_way(0));
  BOOST_TEST(read.items[1].finished());
  BOOST_TEST((read.items[1].start == Instant{Duration{1}}));
  BOOST_TEST((read.items[1].end == Instant{Duration{5}}));
  BOOST_TEST(read.items[1].track == 1U);
  BOOST_TEST(!is_under_way(2));  // it has failed
  BOOST_TEST(!is_under_way(3));
}

// For ThreadSanitizer, too.
BOOST_AUTO_TEST_CASE(a_share_can_be_read_while_its_actor_is_at_work) {
  constexpr std::uint32_t size = 2000;
  Share ops = make_share(self, std::vector<Item>(size));
  const Item chunks{.move = Share::Move{.bytes = 8192, .chunks = 2}};
  Share transfers = make_share(self, std::vector<Item>(size, chunks));
  const SentShare sent_ops(self, ops);
  const SentShare sent_transfers(self, transfers);
  DeviceLogic device(self, 1);
  LinkLogic link(self, Sharing::fifo);
  std::thread actor([&, ops = std::move(ops), transfers = std::move(transfers)]() mutable {
    Instant now{};
    const auto work = [&now](auto& logic, Share share) {
      logic.on_share(std::move(share));
      while (const auto* start = logic.next()) {
        logic.on_started(start->slot, now);
        now += Duration{3};
        logic.on_finished(start->slot, now);
      }
    };
    work(device, std::move(ops));
    work(link, std::move(transfers));
  });
  std::uint32_t finished = 0;
  while (finished < size) {
    finished = 0;
    for (const SentShare* sent : {&sent_ops, &sent_transfers}) {
      const Share read = sent->read();
      const Duration took{read.is_transfer() ? 6 : 3};
      std::uint32_t done = 0;
      for (std::uint32_t i = 0; i < read.size(); ++i) {
        if (!read.items[i].finished()) continue;
        ++done;
        if (read.busy(i) != took || read.items[i].end - read.items[i].start != took) {
          BOOST_ERROR("item " << i << " has a wrong record");
        }
      }
      finished = done;
    }
  }
  actor.join();
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
