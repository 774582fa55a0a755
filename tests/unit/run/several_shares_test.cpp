// Shares of several windows at the same time, and dependencies between windows.
#include "tests/unit/run/progress_fixture.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using testing::add_arrival;
using testing::Told;
using testing::told;
using Items = std::vector<std::uint32_t>;
using Late = std::vector<Share::LateEdge>;

struct Fixture : testing::ProgressFixture {
  // A share of window 1 with these late edges.
  static Share later(const std::vector<testing::Item>& items, Late late) {
    Share share = make_share(items, 1);
    share.late = std::move(late);
    return share;
  }
  // Window 0 has two items; items of window 1 depend on the first.
  void load_first() { load(make_share({{}, {}})); }

  // Loads `share`, which has late edges from item 0 of window 0: before that item is done, after
  // it, and after its share was taken. `released` checks that the dependents are released.
  template <class Released>
  void in_every_case(const Share& share, Released released) {
    BOOST_TEST_CONTEXT("the producer is done later") {
      load_first();
      load(share);
      BOOST_TEST(ready == (Items{0, 1}));
      BOOST_TEST(notices.empty());
      complete_in(0, 1);
      BOOST_TEST(notices.empty());
      complete_in(0, 0);
      released();
    }
    forget();
    BOOST_TEST_CONTEXT("the producer is done, its share is not") {
      load_first();
      complete_in(0, 0);
      load(share);
      released();
      complete_in(0, 1);
      released();
    }
    forget();
    BOOST_TEST_CONTEXT("the producer's share is gone") {
      load_first();
      complete(0);
      complete(1);
      take();
      load(share);
      released();
    }
  }

 private:
  void forget() {
    progress = ShareProgress(self);
    ready.clear();
    ready_windows.clear();
    notices.clear();
  }
};

BOOST_FIXTURE_TEST_SUITE(several_shares, Fixture)

// window 0: 0 ── 1    window 1: 0 ── 1
BOOST_AUTO_TEST_CASE(each_window_has_its_own_dependencies) {
  const auto chain = [](std::uint32_t window) {
    return make_share({{.successors = {{self, 1}}}, {.waits_for = 1}}, window);
  };
  load(chain(0));
  load(chain(1));
  BOOST_TEST(progress.parts().size() == 2U);
  BOOST_TEST(ready == (Items{0, 0}));
  BOOST_TEST(ready_windows == (Items{0, 1}));
  complete_in(1, 0);
  BOOST_TEST(ready == (Items{0, 0, 1}));
  BOOST_TEST(ready_windows.back() == 1U);
  complete_in(0, 0);
  BOOST_TEST(ready == (Items{0, 0, 1, 1}));
  BOOST_TEST(ready_windows.back() == 0U);
  BOOST_TEST(progress.done() == 2U);
}

BOOST_AUTO_TEST_CASE(notices_go_to_the_window_they_are_for) {
  for (const std::uint32_t window : {0U, 1U, 3U}) load(make_share({{.waits_for = 1}}, window));
  notify(3, 0);
  notify(4, 0);
  notify(1, 0);
  notify(0, 0);
  BOOST_TEST(ready_windows == (Items{3, 1, 0}));
  load(make_share({{.waits_for = 1}}, 4));
  BOOST_TEST(ready_windows == (Items{3, 1, 0, 4}));
}

BOOST_AUTO_TEST_CASE(a_notice_names_the_window_of_the_item_that_sends_it) {
  for (const std::uint32_t window : {0U, 2U}) {
    load(make_share({{.successors = {{other, 7}}}}, window));
  }
  complete_in(2, 0);
  complete_in(0, 0);
  BOOST_TEST((told(notices) == Told{{2, {other, 7}}, {0, {other, 7}}}));
}

BOOST_AUTO_TEST_CASE(a_window_that_is_complete_before_an_older_one_is_handed_over_at_once) {
  for (std::uint32_t window = 0; window < 3; ++window) load(make_share({{}, {}}, window));
  complete_in(0, 1);
  complete_in(1, 0);
  BOOST_TEST(!progress.take_complete());
  complete_in(1, 1);
  BOOST_TEST(take().window == 1U);
  BOOST_TEST(!progress.take_complete());
  BOOST_TEST_REQUIRE(progress.parts().size() == 2U);
  BOOST_TEST(progress.parts()[0]->share.window == 0U);
  BOOST_TEST(progress.parts()[1]->share.window == 2U);
  complete_in(0, 0);
  complete_in(2, 0);
  complete_in(2, 1);
  BOOST_TEST(take().window == 0U);
  BOOST_TEST(take().window == 2U);
  BOOST_TEST(!progress.take_complete());
  BOOST_TEST(progress.done() == 6U);
}

BOOST_AUTO_TEST_CASE(shares_that_are_left_are_taken_in_the_order_of_windows) {
  for (std::uint32_t window = 0; window < 4; ++window) load(make_share({{}}, window));
  complete_in(1, 0);
  take();
  complete_in(2, 0);
  const std::vector<Share> left = progress.take_all();
  progress.check_invariants();
  BOOST_TEST_REQUIRE(left.size() == 3U);
  BOOST_TEST(left[0].window == 0U);
  BOOST_TEST(left[1].window == 2U);
  BOOST_TEST(left[1].items[0].finished());
  BOOST_TEST(left[2].window == 3U);
  BOOST_TEST(!progress.take_complete());
}

BOOST_AUTO_TEST_CASE(a_share_without_items_is_complete_when_it_comes) {
  load(make_share({{}}));
  load(make_share({}, 1));
  BOOST_TEST(take().window == 1U);
  BOOST_TEST(!progress.take_complete());
}

// window 0: 0 ─── window 1: 0
BOOST_AUTO_TEST_CASE(an_item_waits_for_one_of_an_earlier_window) {
  in_every_case(later({{.waits_for = 1}}, {{.window = 0, .item = 0, .to = {self, 0}}}), [this] {
    BOOST_TEST(ready == (Items{0, 1, 0}));
    BOOST_TEST(ready_windows.back() == 1U);
    BOOST_TEST(chunks.empty());
  });
}

// window 0: 0 ─── window 1: item 3 of another.  This actor may have no item in window 1.
BOOST_AUTO_TEST_CASE(an_item_elsewhere_waits_for_one_of_an_earlier_window_here) {
  in_every_case(later({}, {{.window = 0, .item = 0, .to = {other, 3}}}), [this] {
    BOOST_TEST((told(notices) == Told{{1, {other, 3}}}));
    BOOST_TEST(ready == (Items{0, 1}));
  });
}

// window 0: 0 ─┬─ window 1: 0 and 2 (which waits for another notice, too)
//              ├─ items 3 and 4 of another
//              └─ an arrival: 1 and 2
BOOST_AUTO_TEST_CASE(several_items_here_and_elsewhere_wait_for_one_of_an_earlier_window) {
  Share share = later({{.waits_for = 1}, {.waits_for = 1}, {.waits_for = 3}},
                      {{.window = 0, .item = 0, .to = {self, 0}},
                       {.window = 0, .item = 0, .to = {other, 3}},
                       {.window = 0, .item = 0, .to = {self, 2}},
                       {.window = 0, .item = 0, .to = {other, 4}}});
  share.late.push_back({.window = 0, .item = 0, .to = {self, add_arrival(share, {1, 2})}});
  in_every_case(share, [this] {
    // The order doesn't matter.
    BOOST_TEST(std::set(ready.begin() + 2, ready.end()) == (std::set<std::uint32_t>{0, 1}));
    BOOST_TEST(ready.size() == 4U);
    BOOST_TEST(notices.size() == 2U);
    const Told all = told(notices);
    for (const std::uint32_t item : {3U, 4U}) {
      BOOST_TEST(std::count(all.begin(), all.end(), Told::value_type{1, {other, item}}) == 1);
    }
  });
  notify(1, 2);
  BOOST_TEST(ready.back() == 2U);
}

// window 0: 0 ─┐
// window 1: 0 ─┴─ window 2: 0
BOOST_AUTO_TEST_CASE(an_item_may_wait_for_items_of_several_windows) {
  load(make_share({{}}));
  load(make_share({{}}, 1));
  Share last = make_share({{.waits_for = 2}}, 2);
  last.late = {{.window = 0, .item = 0, .to = {self, 0}},
               {.window = 1, .item = 0, .to = {self, 0}}};
  load(std::move(last));
  complete_in(1, 0);
  BOOST_TEST(ready_windows == (Items{0, 1}));
  complete_in(0, 0);
  BOOST_TEST(ready_windows == (Items{0, 1, 2}));
}

// window 0: 0 ─┬─ window 1: 0
//              └─ window 2: 0, loaded when window 1 waits already
BOOST_AUTO_TEST_CASE(items_of_several_windows_may_wait_for_one) {
  load_first();
  load(later({{.waits_for = 1}}, {{.window = 0, .item = 0, .to = {self, 0}}}));
  Share last = make_share({{.waits_for = 1}}, 2);
  last.late = {{.window = 0, .item = 0, .to = {self, 0}}};
  load(std::move(last));
  complete_in(0, 0);
  BOOST_TEST(
      (std::set(ready_windows.begin() + 2, ready_windows.end()) == std::set<std::uint32_t>{1, 2}));
  BOOST_TEST(ready.size() == 4U);
}

// window 0: 0 ─── 1; items of window 1 depend on both
BOOST_AUTO_TEST_CASE(each_item_releases_only_its_own_dependents) {
  load(make_share({{.successors = {{self, 1}}}, {.waits_for = 1}}));
  load(later({{.waits_for = 1}, {.waits_for = 1}}, {{.window = 0, .item = 1, .to = {self, 0}},
                                                    {.window = 0, .item = 0, .to = {self, 1}}}));
  complete_in(0, 0);
  BOOST_TEST(ready == (Items{0, 1, 1}));
  BOOST_TEST(ready_windows == (Items{0, 0, 1}));
  complete_in(0, 1);
  BOOST_TEST(ready == (Items{0, 1, 1, 0}));
}

// A notice from elsewhere arrives before the share; its dependency of window 0 is satisfied
// already.
BOOST_AUTO_TEST_CASE(early_notices_and_edges_from_earlier_windows_add_up) {
  load_first();
  complete_in(0, 0);
  notify(1, 0);
  load(later({{.waits_for = 2}, {.waits_for = 2}}, {{.window = 0, .item = 0, .to = {self, 0}},
                                                    {.window = 0, .item = 0, .to = {self, 1}}}));
  BOOST_TEST(ready == (Items{0, 1, 0}));
  BOOST_TEST(chunks.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
