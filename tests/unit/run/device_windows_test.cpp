// A device that has shares of several windows at the same time.
#include "tests/support/share_view.hpp"
#include "tests/unit/run/device_fixture.hpp"

#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(device_windows)
namespace {

using testing::Items;
using testing::Places;
using testing::Told;
using testing::told;
using Device = testing::TestedDevice;

constexpr ResourceId self = Device::self;
constexpr ResourceId other{1};

BOOST_AUTO_TEST_CASE(ready_ops_of_an_older_window_start_first) {
  Device d(1);
  d.share({{.waits_for = 1}, {.waits_for = 1}, {}});
  d.share({{.waits_for = 1}, {}}, 1);
  d.share({{}}, 2);
  BOOST_TEST((d.start_places() == Places{{0, 2}}));
  d.notice({0}, 1);
  d.finish(2);
  BOOST_TEST((d.start_places() == Places{{1, 0}}));
  // Ops of the oldest window become ready again.
  d.notice({1, 0});
  d.finish(0, 1);
  BOOST_TEST((d.run() == Places{{0, 0}, {0, 1}, {1, 1}, {2, 0}}));
}

BOOST_AUTO_TEST_CASE(slots_may_work_for_several_windows_at_once) {
  Device d(3);
  d.share({{}, {.waits_for = 1}});
  d.share({{}, {}, {}}, 1);
  BOOST_TEST((d.start_places() == Places{{0, 0}, {1, 0}, {1, 1}}));
  BOOST_TEST(d.finish(0, 1) == 1U);
  BOOST_TEST(d.finish(0) == 0U);
  BOOST_TEST((d.start_places() == Places{{1, 2}}));
  d.finish(1, 1);
  d.finish(2, 1);
  const Share second = d.hand_in();
  BOOST_TEST(second.window == 1U);
  for (std::uint32_t item = 0; item < 3; ++item) {
    BOOST_TEST(second.items[item].track == (item == 2 ? 0U : item + 1));
    BOOST_TEST((second.busy(item) == Duration{10}));
  }
  BOOST_TEST((second.items[0].end == Instant{Duration{10}}));
  BOOST_TEST((second.items[2].end == Instant{Duration{40}}));
  BOOST_TEST((d.current_share().items[0].end == Instant{Duration{20}}));
  BOOST_TEST(!d.current_share().items[1].finished());
}

// The older window waits for another resource.
BOOST_AUTO_TEST_CASE(a_window_that_is_complete_before_an_older_one_is_handed_in_at_once) {
  Device d(1);
  d.share({{.waits_for = 1}});
  d.share({{}, {}}, 1);
  d.share({{}}, 2);
  BOOST_TEST((d.run() == Places{{1, 0}, {1, 1}, {2, 0}}));
  BOOST_TEST(d.hand_in().window == 1U);
  BOOST_TEST(d.hand_in().window == 2U);
  BOOST_TEST(!d.logic().progress().take_complete());
  d.notice({0});
  BOOST_TEST((d.run() == Places{{0, 0}}));
  BOOST_TEST(d.hand_in().window == 0U);
  BOOST_TEST(d.logic().progress().done() == 4U);
}

// A share is taken while an op with the same item number in another share is running.
BOOST_AUTO_TEST_CASE(a_running_op_stays_when_the_share_of_another_window_is_taken) {
  Device d(2);
  d.share({{}});
  d.share({{.successors = {{self, 1}}}, {.waits_for = 1}}, 1);
  BOOST_TEST((d.start_places() == Places{{0, 0}, {1, 0}}));
  d.finish(0);
  BOOST_TEST(d.hand_in().window == 0U);
  d.finish(0, 1);
  BOOST_TEST((d.run() == Places{{1, 1}}));
  BOOST_TEST(d.hand_in().items[1].finished());
}

BOOST_AUTO_TEST_CASE(notices_of_several_windows_are_collected_together) {
  Device d(2);
  d.share({{.successors = {{other, 3}, {other, 5}}}});
  d.share({{.successors = {{other, 3}}}}, 1);
  d.start();
  d.finish(0, 1);
  d.finish(0);
  BOOST_TEST(
      (told(d.logic().notices()) == Told{{1, {other, 3}}, {0, {other, 3}}, {0, {other, 5}}}));
}

// window 0: 0 ─┬─ window 1: 0
//              └─ window 1: item 2 of another
BOOST_AUTO_TEST_CASE(an_op_releases_its_dependents_in_a_later_window) {
  Device d(1);
  d.share({{}, {.waits_for = 1}});
  d.share({{.waits_for = 1}, {}}, 1,
          {{.window = 0, .item = 0, .to = {self, 0}}, {.window = 0, .item = 0, .to = {other, 2}}});
  BOOST_TEST((d.start_places() == Places{{0, 0}}));
  BOOST_TEST(d.logic().notices().empty());
  d.finish(0);
  BOOST_TEST((told(d.logic().notices()) == Told{{1, {other, 2}}}));
  // Item 0 starts before item 1, which has been ready for longer.
  BOOST_TEST((d.run() == Places{{1, 0}, {1, 1}}));
}

BOOST_AUTO_TEST_CASE(an_op_that_failed_releases_nothing_in_later_windows) {
  Device d(1);
  d.share({{}});
  d.share({{.waits_for = 1}}, 1,
          {{.window = 0, .item = 0, .to = {self, 0}}, {.window = 0, .item = 0, .to = {other, 2}}});
  d.start();
  d.fail(0);
  BOOST_TEST(d.start().empty());
  BOOST_TEST(d.logic().notices().empty());
  BOOST_TEST(!d.logic().progress().take_complete());
}

BOOST_AUTO_TEST_CASE(after_a_stop_nothing_starts_in_any_window) {
  Device d(2);
  d.share({{}});
  d.share({{}, {}}, 1);
  d.start();
  d.stop();
  d.finish(0);
  d.finish(0, 1);
  d.share({{}}, 2);
  BOOST_TEST(d.start().empty());
  BOOST_TEST(d.logic().is_idle());
  BOOST_TEST(d.hand_in().window == 0U);
  const std::vector<Share> left = d.logic().progress().take_all();
  BOOST_TEST_REQUIRE(left.size() == 2U);
  BOOST_TEST(left[0].items[0].finished());
  BOOST_TEST(!left[0].items[1].finished());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
