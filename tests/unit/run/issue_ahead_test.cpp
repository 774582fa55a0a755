// Devices and links that are given work before the work has ended that it depends on.
#include "core/run/issue_ahead.hpp"

#include "core/run/link_logic.hpp"
#include "tests/support/share_maker.hpp"
#include "tests/support/share_view.hpp"
#include "tests/unit/run/device_fixture.hpp"

#include <optional>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(issue_ahead)
namespace {

using testing::Item;
using testing::Items;
using testing::make_share;
using testing::Places;
using testing::Told;
using testing::told;
using Device = testing::TestedDevice;

constexpr ResourceId self = Device::self;
constexpr ResourceId gpu_link{1};  // waits for tokens of the device
constexpr ResourceId cpu{2};       // doesn't

IssueAhead ahead(std::uint32_t depth) {
  return {.depth = depth, .can_wait = {true, true, false}};
}

// 0 ── 1 ── 2
BOOST_AUTO_TEST_CASE(an_op_can_be_issued_when_its_inputs_were) {
  Device d(1, ahead(64));
  d.share(
      {{.successors = {{self, 1}}}, {.waits_for = 1, .successors = {{self, 2}}}, {.waits_for = 1}});
  BOOST_TEST(d.start() == Items{0});
  BOOST_TEST(d.start().empty());
  d.issue(0);
  BOOST_TEST(d.start() == Items{1});
  d.issue(1);
  BOOST_TEST(d.start() == Items{2});
  d.issue(2);
  for (const std::uint32_t item : {0U, 1U, 2U}) d.finish(item);
  BOOST_TEST(d.hand_in().items[2].finished());
}

//     ┌─ item 5 of a link that can wait
//  0 ─┤
//     └─ item 7 of a CPU
BOOST_AUTO_TEST_CASE(who_can_wait_learns_at_the_issue_and_all_others_at_the_end) {
  Device d(1, ahead(64));
  d.share({{.successors = {{gpu_link, 5}, {cpu, 7}}}});
  d.start();
  d.issue(0);
  BOOST_TEST((told(d.logic().notices()) == Told{{0, {gpu_link, 5}}}));
  d.logic().notices().clear();
  d.finish(0);
  BOOST_TEST((told(d.logic().notices()) == Told{{0, {cpu, 7}}}));
}

BOOST_AUTO_TEST_CASE(ops_go_to_the_stream_with_the_fewest_and_not_beyond_the_depth) {
  Device d(2, ahead(2));
  d.share(std::vector<Item>(6));
  for (std::uint32_t item = 0; item < 4; ++item) {
    const DeviceLogic::Start* const next = d.logic().next();
    BOOST_TEST_REQUIRE(next != nullptr);
    BOOST_TEST(next->item == item);
    BOOST_TEST(next->slot / 2 == item % 2);  // the stream
    d.logic().on_started(next->slot, Instant{});
    d.logic().on_issued(next->slot);
    d.logic().check_invariants();
  }
  BOOST_TEST(d.logic().next() == nullptr);
  d.logic().on_finished(2, Instant{Duration{1}});
  const DeviceLogic::Start* const fifth = d.logic().next();
  BOOST_TEST_REQUIRE(fifth != nullptr);
  BOOST_TEST(fifth->slot == 2U);
  BOOST_TEST(d.current_share().items[1].track == 1U);  // the record says the stream
}

// 0 ─┬─ 1, a further output ── 2
//    └─ item 7 of a CPU reads the further output
BOOST_AUTO_TEST_CASE(further_outputs_are_issued_and_finished_with_their_op) {
  Device d(1, ahead(64));
  d.share({{.successors = {{self, 1}}},
           {.waits_for = 1, .successors = {{self, 2}, {cpu, 7}}, .is_further = true},
           {.waits_for = 1}});
  d.start();
  d.issue(0);
  BOOST_TEST(d.start() == Items{2});
  d.issue(2);
  BOOST_TEST(d.logic().notices().empty());
  d.finish(0);
  BOOST_TEST((told(d.logic().notices()) == Told{{0, {cpu, 7}}}));
  BOOST_TEST(d.current_share().items[1].finished());
  BOOST_TEST((d.current_share().busy(1) == Duration{0}));
  d.finish(2);
  d.hand_in();
}

// window 0: 0    window 1: 1 of this device and 7 of a CPU wait for it
BOOST_AUTO_TEST_CASE(a_late_edge_from_an_op_that_was_issued_holds_up_only_who_cannot_wait) {
  Device d(1, ahead(64));
  d.share({{}});
  d.start();
  d.issue(0);
  d.share({{.waits_for = 1}}, 1,
          {{.window = 0, .item = 0, .to = {self, 0}}, {.window = 0, .item = 0, .to = {cpu, 7}}});
  BOOST_TEST((d.start_places() == Places{{1, 0}}));
  BOOST_TEST(d.logic().notices().empty());
  d.issue(0, 1);
  d.finish(0);
  BOOST_TEST((told(d.logic().notices()) == Told{{1, {cpu, 7}}}));
}

// window 0: 0    window 1: 0 of this device waits for it
BOOST_AUTO_TEST_CASE(a_late_edge_that_came_before_the_issue_is_released_by_it) {
  Device d(1, ahead(64));
  d.share({{}});
  BOOST_TEST((d.start_places() == Places{{0, 0}}));
  d.share({{.waits_for = 1}}, 1, {{.window = 0, .item = 0, .to = {self, 0}}});
  BOOST_TEST(d.start_places().empty());
  d.issue(0);
  BOOST_TEST((d.start_places() == Places{{1, 0}}));
}

// 0 ── 1 (waits for room),  0 ── 2
BOOST_AUTO_TEST_CASE(an_op_that_waits_for_room_waits_for_the_end_of_others_and_holds_up_no_other) {
  Device d(1, ahead(64));
  Share share = make_share(
      self, {{.successors = {{self, 1}, {self, 2}}}, {.waits_for = 1}, {.waits_for = 1}}, 0);
  share.successors[0].value |= Share::Successor::room_bit;
  d.logic().on_share(std::move(share));
  BOOST_TEST(d.start() == Items{0});
  d.issue(0);
  BOOST_TEST(d.start() == Items{2});
  d.finish(0);
  BOOST_TEST(d.start() == Items{1});
}

BOOST_AUTO_TEST_CASE(an_issued_op_that_fails_leaves_the_others_under_way) {
  Device d(1, ahead(64));
  d.share({{.successors = {{self, 1}}}, {.waits_for = 1}});
  d.start();
  d.issue(0);
  d.start();
  d.issue(1);
  d.fail(0);
  d.stop();
  BOOST_TEST(d.logic().busy_slots() == 1U);
  d.finish(1);
  BOOST_TEST(d.logic().is_idle());
  BOOST_TEST(!d.current_share().items[0].finished());
}

// A transfer of `chunks` pages.
Item pages(std::uint16_t chunks, std::vector<ItemRef> successors = {}, bool paces = false) {
  return {.successors = std::move(successors),
          .expected = Duration{100} * chunks,
          .move = Share::Move{.bytes = 4096ULL * chunks, .chunks = chunks, .paces = paces}};
}

constexpr ResourceId link_itself{1};

LinkLogic::Start start_and_issue(LinkLogic& link) {
  const LinkLogic::Start* const next = link.next();
  BOOST_TEST_REQUIRE(next != nullptr);
  link.on_started(next->slot, Instant{});
  link.on_issued(next->slot);
  link.check_invariants();
  return *next;
}

BOOST_AUTO_TEST_CASE(chunks_are_issued_up_to_the_depth_in_their_order) {
  LinkLogic link(link_itself, Sharing::fifo, ahead(3));
  link.on_share(make_share(link_itself, {pages(2, {{self, 4}, {cpu, 7}}), pages(2)}, 0));
  const LinkLogic::Start first = start_and_issue(link);
  BOOST_TEST(link.notices().empty());
  const LinkLogic::Start second = start_and_issue(link);
  BOOST_TEST((second.offset == 4096U && second.last));
  BOOST_TEST((told(link.notices()) == Told{{0, {self, 4}}}));
  link.notices().clear();
  const LinkLogic::Start third = start_and_issue(link);
  BOOST_TEST((third.item == 1U && third.offset == 0U));
  BOOST_TEST(link.next() == nullptr);
  link.on_finished(first.slot, Instant{Duration{100}});
  BOOST_TEST(link.notices().empty());
  link.on_finished(second.slot, Instant{Duration{200}});
  link.check_invariants();
  BOOST_TEST((told(link.notices()) == Told{{0, {cpu, 7}}}));
  BOOST_TEST(start_and_issue(link).offset == 4096U);
  BOOST_TEST(link.busy_slots() == 2U);
}

// The first successor is the same tensor's transfer over the next link.
BOOST_AUTO_TEST_CASE(the_next_link_of_a_route_learns_of_a_chunk_at_its_issue_if_it_can_wait) {
  for (const ResourceId next_link : {self, cpu}) {
    const bool can_wait = next_link == self;
    LinkLogic link(link_itself, Sharing::fifo, ahead(3));
    link.on_share(make_share(link_itself, {pages(2, {{next_link, 4}}, true)}, 0));
    const LinkLogic::Start first = start_and_issue(link);
    BOOST_TEST(link.notices().size() == (can_wait ? 1U : 0U));
    start_and_issue(link);
    link.on_finished(first.slot, Instant{Duration{100}});
    BOOST_TEST(link.notices().size() == (can_wait ? 2U : 1U));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
