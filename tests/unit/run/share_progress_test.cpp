#include "core/run/share_progress.hpp"

#include "tests/unit/run/progress_fixture.hpp"

#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using testing::add_arrival;
using testing::Told;
using testing::told;
using testing::units;
using Items = std::vector<std::uint32_t>;

BOOST_FIXTURE_TEST_SUITE(share_progress, testing::ProgressFixture)

// 0 ─┬─ 1 ── 2 (which waits for another notice, too)
//    └─ item 7 of another
BOOST_AUTO_TEST_CASE(completed_items_release_their_successors_here_and_elsewhere) {
  load(make_share({{.successors = {{self, 1}, {other, 7}}},
                   {.waits_for = 1, .successors = {{self, 2}}},
                   {.waits_for = 2}}));
  BOOST_TEST(ready == Items{0});
  complete(0);
  BOOST_TEST(ready == (Items{0, 1}));
  BOOST_TEST((told(notices) == Told{{0, {other, 7}}}));
  complete(1);
  BOOST_TEST(ready == (Items{0, 1}));
  BOOST_TEST(part().done == 2U);
  BOOST_TEST(!progress.take_complete());
  notify(0, 2);
  BOOST_TEST(ready == (Items{0, 1, 2}));
  complete(2);
  BOOST_TEST(part().is_complete());
  BOOST_TEST(progress.done() == 3U);
}

BOOST_AUTO_TEST_CASE(notices_that_come_before_their_share_count_when_it_arrives) {
  notify(0, 1);
  notify(1, 0);
  notify(0, 1);
  BOOST_TEST(ready.empty());
  load(make_share({{.waits_for = 1}, {.waits_for = 2}}));
  BOOST_TEST(ready == Items{1});
  notify(0, 0);
  complete(1);
  complete(0);
  take();
  ready.clear();
  load(make_share({{.waits_for = 1}}, 1));
  BOOST_TEST(ready == Items{0});
}

// A watched item: its notice has no resource.
BOOST_AUTO_TEST_CASE(a_watched_item_is_told_of_once_it_is_done) {
  const auto watch = [this](std::uint32_t item) {
    progress.add_late(0, item, {.window = 0, .ref = {}}, Sink{*this});
  };
  load(make_share({{}, {.waits_for = 1}, {}}));
  watch(1);
  complete(0);
  BOOST_TEST(notices.empty());
  notify(0, 1);
  complete(1);
  BOOST_TEST((told(notices) == Told{{0, {}}}));
  notices.clear();
  watch(0);
  BOOST_TEST((told(notices) == Told{{0, {}}}));
  complete(2);
  take();
  watch(2);
  BOOST_TEST(notices.size() == 2U);
}

BOOST_AUTO_TEST_CASE(notices_may_be_several_windows_early) {
  notify(3, 0);
  load(make_share({{}}));
  complete(0);
  take();
  ready.clear();
  load(make_share({{}}, 2));
  BOOST_TEST(ready == Items{0});
  complete(0);
  take();
  ready.clear();
  load(make_share({{.waits_for = 1}}, 3));
  BOOST_TEST(ready == Items{0});
}

BOOST_AUTO_TEST_CASE(notices_after_the_last_one_that_was_waited_for_are_chunks) {
  load(make_share({{.waits_for = 1}}));
  notify(0, 0);
  BOOST_TEST(ready == Items{0});
  BOOST_TEST(chunks.empty());
  notify(0, 0);
  notify(0, 0);
  BOOST_TEST(chunks == (Items{0, 0}));
}

BOOST_AUTO_TEST_CASE(early_chunks_are_counted_when_the_share_arrives) {
  for (int i = 0; i < 3; ++i) notify(0, 0);
  load(make_share({{.waits_for = 1}}));
  BOOST_TEST(ready == Items{0});
  BOOST_TEST(chunks == (Items{0, 0}));
}

// elsewhere ─┬─ 0
//            ├─ 2 (which waits for another notice, too)
//            └─ 3        and 1, which waits for another notice only
BOOST_AUTO_TEST_CASE(an_arrival_is_one_dependency_of_each_of_its_items) {
  Share share =
      make_share({{.waits_for = 1}, {.waits_for = 1}, {.waits_for = 2}, {.waits_for = 1}});
  const std::uint32_t arrival = add_arrival(share, {0, 2, 3});
  BOOST_TEST(arrival == 4U);
  load(std::move(share));
  BOOST_TEST(ready.empty());
  notify(0, arrival);
  BOOST_TEST(ready == (Items{0, 3}));
  BOOST_TEST(waits_for(1) == 1U);
  BOOST_TEST(waits_for(2) == 1U);
  notify(0, 2);
  BOOST_TEST(ready == (Items{0, 3, 2}));
  notify(0, 1);
  BOOST_TEST(ready == (Items{0, 3, 2, 1}));
  BOOST_TEST(chunks.empty());
}

BOOST_AUTO_TEST_CASE(an_item_may_wait_for_several_arrivals) {
  Share share = make_share({{.waits_for = 2}, {.waits_for = 1}, {.waits_for = 2}});
  const std::uint32_t first = add_arrival(share, {0, 1});
  const std::uint32_t second = add_arrival(share, {0, 2});
  const std::uint32_t third = add_arrival(share, {2});
  load(std::move(share));
  notify(0, third);
  BOOST_TEST(ready.empty());
  notify(0, second);
  BOOST_TEST(ready == Items{2});
  notify(0, first);
  BOOST_TEST(ready == (Items{2, 0, 1}));
}

BOOST_AUTO_TEST_CASE(an_arrival_that_comes_before_its_share_counts_when_that_arrives) {
  Share second = make_share({{.waits_for = 2}, {.waits_for = 1}, {.waits_for = 1}}, 1);
  const std::uint32_t arrival = add_arrival(second, {0, 2});
  notify(1, arrival);
  load(make_share({{}, {}, {}, {.waits_for = 1}}));
  // This share has an item with the number of the arrival; the early notice must not release it.
  BOOST_TEST(ready == (Items{0, 1, 2}));
  notify(0, 3);
  for (const std::uint32_t item : {0U, 1U, 2U, 3U}) complete(item);
  take();
  ready.clear();
  load(std::move(second));
  BOOST_TEST(ready == Items{2});
  BOOST_TEST(waits_for(0) == 1U);
  BOOST_TEST(waits_for(1) == 1U);
  notify(1, 0);
  BOOST_TEST(ready == (Items{2, 0}));
  BOOST_TEST(chunks.empty());
}

BOOST_AUTO_TEST_CASE(a_successor_that_was_notified_already_is_skipped) {
  load(make_share({{.successors = {{other, 4}, {other, 5}}}}));
  complete(0, true);
  BOOST_TEST((told(notices) == Told{{0, {other, 5}}}));
}

BOOST_AUTO_TEST_CASE(a_share_that_is_complete_is_handed_over_once_with_its_records) {
  load(make_share({{}, {}}, 0, false, 10));
  complete(1);
  BOOST_TEST(!progress.take_complete());
  complete(0);
  const Share share = take();
  BOOST_TEST(share.window == 0U);
  BOOST_TEST(!share.timed);
  BOOST_TEST((units(share) == std::vector{UnitId{10}, UnitId{11}}));
  BOOST_TEST((share.items[0].finished() && share.items[1].finished()));
  BOOST_TEST(!progress.take_complete());
  BOOST_TEST(progress.parts().empty());
  BOOST_TEST(progress.done() == 2U);
}

BOOST_AUTO_TEST_CASE(shares_that_are_left_are_taken_with_the_records_of_finished_items) {
  load(make_share({{}}, 0, false, 10));
  complete(0);
  take();
  load(make_share({{}, {.waits_for = 1}}, 1, true, 20));
  complete(0);
  const std::vector<Share> left = progress.take_all();
  progress.check_invariants();
  BOOST_REQUIRE(left.size() == 1U);
  BOOST_TEST(left[0].timed);
  BOOST_TEST((units(left[0]) == std::vector{UnitId{20}, UnitId{21}}));
  BOOST_TEST(left[0].items[0].finished());
  BOOST_TEST(!left[0].items[1].finished());
  BOOST_TEST(progress.done() == 2U);
  BOOST_TEST(progress.parts().empty());
  BOOST_TEST(progress.take_all().empty());
  BOOST_TEST(!progress.take_complete());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
