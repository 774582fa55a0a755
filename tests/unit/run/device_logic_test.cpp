#include "core/run/device_logic.hpp"

#include "tests/support/share_view.hpp"
#include "tests/unit/run/device_fixture.hpp"

#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(device_logic)
namespace {

using testing::Item;
using testing::Items;
using testing::Places;
using testing::Told;
using testing::told;
using Device = testing::TestedDevice;

constexpr ResourceId self = Device::self;
constexpr ResourceId other{1};

BOOST_AUTO_TEST_CASE(ready_ops_start_in_the_order_of_the_share) {
  Device d(1);
  d.share({{.waits_for = 1}, {}, {.waits_for = 1}, {}});
  d.notice({2, 0});
  BOOST_TEST((d.run() == Places{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
  d.hand_in();
}

// 0 ── 1 (urgent)    2
BOOST_AUTO_TEST_CASE(an_op_that_becomes_ready_goes_before_less_urgent_ones) {
  Device d(1);
  d.share({{.successors = {{self, 1}}}, {.waits_for = 1}, {}});
  BOOST_TEST(d.start() == Items{0});
  d.finish(0);
  BOOST_TEST(d.start() == Items{1});
  d.finish(1);
  BOOST_TEST(d.start() == Items{2});
}

// window 0: 0 (urgent, waits for another resource)    window 1: 0 ─┬─ 1, a further output
//                                                               └─ 2
BOOST_AUTO_TEST_CASE(a_further_output_comes_before_ops_of_earlier_windows_too) {
  Device d(1);
  d.share({{.waits_for = 1}});
  d.share({{.successors = {{self, 1}, {self, 2}}},
           {.waits_for = 1, .is_further = true},
           {.waits_for = 1}},
          1);
  BOOST_TEST((d.start_places() == Places{{1, 0}}));
  d.notice({0});
  d.finish(0, 1);
  BOOST_TEST((d.run() == Places{{1, 1}, {0, 0}, {1, 2}}));
}

BOOST_AUTO_TEST_CASE(as_many_ops_run_at_once_as_there_are_slots) {
  Device d(3);
  d.share(std::vector<Item>(5));
  BOOST_TEST(d.start() == (Items{0, 1, 2}));
  BOOST_TEST(d.logic().busy_slots() == 3U);
  BOOST_TEST(d.finish(1) == 1U);
  BOOST_TEST(d.start() == Items{3});
  BOOST_TEST(d.finish(3) == 1U);
  BOOST_TEST(d.start() == Items{4});
  for (const std::uint32_t item : {0U, 2U, 4U}) d.finish(item);
  BOOST_TEST(d.logic().is_idle());
}

// another resource ── 0 ─┬─ 1
//                        └─ item 3 of another resource
BOOST_AUTO_TEST_CASE(an_op_notifies_successors_elsewhere_and_a_notice_releases_an_op) {
  Device d(1);
  d.share({{.waits_for = 1, .successors = {{self, 1}, {other, 3}}}, {.waits_for = 1}});
  BOOST_TEST(d.start().empty());
  d.notice({0});
  BOOST_TEST(d.start() == Items{0});
  BOOST_TEST(d.logic().notices().empty());
  d.finish(0);
  BOOST_TEST((told(d.logic().notices()) == Told{{0, {other, 3}}}));
  BOOST_TEST(d.start() == Items{1});
}

BOOST_AUTO_TEST_CASE(a_device_expects_more_notices_while_an_op_could_start) {
  Device d(1);
  BOOST_TEST(!d.logic().expects_more_notices());
  d.share({{}, {}, {.waits_for = 1}});
  BOOST_TEST(d.logic().expects_more_notices());
  d.start();
  BOOST_TEST(d.logic().expects_more_notices());  // 1, once the slot is free
  d.finish(0);
  d.start();
  BOOST_TEST(!d.logic().expects_more_notices());  // 2 waits for a notice
  d.finish(1);
  d.notice({2});
  BOOST_TEST(d.logic().expects_more_notices());
  d.logic().on_stop();
  BOOST_TEST(!d.logic().expects_more_notices());
}

BOOST_AUTO_TEST_CASE(a_share_follows_when_the_one_before_it_is_complete) {
  Device d(1);
  d.notice({0}, 1);
  d.share({{}});
  d.start();
  d.finish(0);
  d.hand_in();
  d.share({{.waits_for = 1}}, 1);
  BOOST_TEST(d.start() == Items{0});
}

// 0 ── 1
BOOST_AUTO_TEST_CASE(an_op_that_failed_releases_nothing_and_leaves_no_record) {
  Device d(1);
  d.share({{.successors = {{self, 1}, {other, 0}}}, {.waits_for = 1}});
  d.start();
  d.fail(0);
  BOOST_TEST(d.start().empty());
  BOOST_TEST(d.logic().notices().empty());
  BOOST_TEST(d.logic().is_idle());
  BOOST_TEST(d.logic().progress().done() == 0U);
  BOOST_TEST(!d.logic().progress().take_all().at(0).items[0].finished());
}

BOOST_AUTO_TEST_CASE(after_a_stop_no_op_starts_and_running_ops_may_finish) {
  Device d(2);
  d.share(std::vector<Item>(4));
  BOOST_TEST(d.start() == (Items{0, 1}));
  d.stop();
  d.finish(0);
  BOOST_TEST(d.start().empty());
  BOOST_TEST(!d.logic().is_idle());
  d.finish(1);
  BOOST_TEST(d.start().empty());
  BOOST_TEST(d.logic().is_idle());
  BOOST_TEST(d.logic().progress().done() == 2U);
}

BOOST_AUTO_TEST_CASE(a_record_has_start_end_and_slot) {
  Device d(2);
  d.share(std::vector<Item>(2));
  d.start();
  d.finish(1);
  const Share::Item& record = d.current_share().items[1];
  BOOST_TEST(record.track == 1U);
  BOOST_TEST((record.start == Instant{}));
  BOOST_TEST((record.end == Instant{Duration{10}}));
  BOOST_TEST((d.current_share().busy(1) == Duration{10}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
