// Windows that are added during the run, and that need not wait for each other.
#include "tests/unit/actors/small_run.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(streamed_windows)
namespace {

using testing::Item;
using testing::make_share;
using testing::SmallRun;
using testing::window;
using namespace std::chrono_literals;

constexpr ResourceId dev0{0};
constexpr ResourceId dev1{1};
constexpr bool at_once = false;  // `waits` of a window

std::size_t finished(const ResourceShares& shares) {
  std::size_t count = 0;
  for (const auto& [resource, share] : shares) {
    for (const Share::Item& item : share.items) count += item.finished() ? 1U : 0U;
  }
  return count;
}

// The share of a resource in a window; there must be exactly one.
const Share& find(const ResourceShares& shares, ResourceId resource, std::uint32_t window) {
  const auto is_it = [&](const auto& s) {
    return s.first == resource && s.second.window == window;
  };
  BOOST_TEST_REQUIRE(std::count_if(shares.begin(), shares.end(), is_it) == 1);
  return std::find_if(shares.begin(), shares.end(), is_it)->second;
}

// window 0: 0 on dev0, 200 ms ─── window 1: 0 on dev1
//                                 window 2: 0 and 1 on dev1, without dependencies
std::vector<Window> overlapping() {
  Share late = make_share(dev0, {}, 1);
  late.late = {{.window = 0, .item = 0, .to = {dev1, 0}}};
  return {window({{dev0, make_share(dev0, {{.expected = 200ms}})}}),
          window({{dev0, late}, {dev1, make_share(dev1, {{.waits_for = 1}}, 1, true, 1)}}, at_once),
          window({{dev1, make_share(dev1, {{}, {}}, 2, true, 2)}}, at_once)};
}

BOOST_AUTO_TEST_CASE(windows_that_are_added_during_the_run_are_executed) {
  for (const bool virtual_time : {true, false}) {
    SmallRun run(virtual_time);
    run.begin();
    for (Window& w : overlapping()) {
      run.steps(7);
      run.take(std::move(w));
    }
    run.steps(1000);
    // Under virtual time all windows have completed now, and the run waits for more.
    run.take(window({{dev0, make_share(dev0, {{}}, 3, true, 4)}}));
    run.last_window();
    const std::optional<RunResult> result = run.end();
    BOOST_TEST_REQUIRE(result.has_value());
    BOOST_TEST((result->ending == Ending::done));
    BOOST_TEST(finished(result->shares) == 5U);
    BOOST_TEST(run.items_done() == 5U);
    const Instant made = find(result->shares, dev0, 0).items[0].end;
    BOOST_TEST((find(result->shares, dev1, 1).items[0].start >= made));
  }
}

// The third window completes first.
BOOST_AUTO_TEST_CASE(the_shares_of_windows_are_handed_over_in_the_windows_order) {
  for (const bool virtual_time : {true, false}) {
    std::vector<ResourceShares> done;
    SmallRun run(virtual_time, [&](ResourceShares s) { done.push_back(std::move(s)); });
    for (Window& w : overlapping()) run.take(std::move(w));
    run.last_window();
    run.begin();
    const std::optional<RunResult> result = run.end();
    BOOST_TEST_REQUIRE(result.has_value());
    BOOST_TEST((result->ending == Ending::done));
    BOOST_TEST(result->shares.empty());
    BOOST_TEST_REQUIRE(done.size() == 3U);
    for (std::uint32_t w = 0; w < 3; ++w) {
      BOOST_TEST(done[w].size() == (w == 1 ? 2U : 1U));
      for (const auto& [resource, share] : done[w]) BOOST_TEST(share.window == w);
      BOOST_TEST(finished(done[w]) == (w == 2 ? 2U : 1U));
    }
    if (!virtual_time) continue;
    BOOST_TEST((find(done[2], dev1, 2).items[1].end < find(done[0], dev0, 0).items[0].end));
  }
}

// window 0: 0 on dev0 ─┬─ window 1: 40 items of dev1 and 40 of dev0
//                      └─ window 2: likewise
BOOST_AUTO_TEST_CASE(an_op_may_release_more_than_a_message_holds_in_several_windows) {
  constexpr std::uint32_t many = 40;
  static_assert(many > 2 * Notice::items_max);
  for (const bool virtual_time : {true, false}) {
    std::vector<Window> windows = {window({{dev0, make_share(dev0, {{.expected = 1ms}})}})};
    const std::vector<Item> waiting(many, Item{.waits_for = 1});
    for (std::uint32_t w = 1; w <= 2; ++w) {
      const std::uint32_t unit = 1 + (w - 1) * 2 * many;
      Share here = make_share(dev0, waiting, w, true, unit);
      for (std::uint32_t item = 0; item < many; ++item) {
        for (const ResourceId to : {dev0, dev1}) {
          here.late.push_back({.window = 0, .item = 0, .to = {to, item}});
        }
      }
      windows.push_back(
          window({{dev0, here}, {dev1, make_share(dev1, waiting, w, true, unit + many)}}, at_once));
    }
    SmallRun run(virtual_time, std::move(windows));
    run.begin();
    const std::optional<RunResult> result = run.end();
    BOOST_TEST_REQUIRE(result.has_value());
    BOOST_TEST((result->ending == Ending::done));
    BOOST_TEST(finished(result->shares) == 1 + 4U * many);
    const Instant made = find(result->shares, dev0, 0).items[0].end;
    for (const auto& [resource, share] : result->shares) {
      for (std::uint32_t i = 0; share.window > 0 && i < share.size(); ++i) {
        BOOST_TEST((share.items[i].start >= made));
      }
    }
  }
}

// dev0 waits for notices that never come in two windows, dev1 in the second.
BOOST_AUTO_TEST_CASE(
    a_run_that_is_stuck_in_several_windows_names_the_oldest_pending_of_each_device) {
  using Pending = std::set<std::pair<UnitId, std::uint32_t>>;  // unit, missing notices
  for (const bool virtual_time : {true, false}) {
    SmallRun run(virtual_time,
                 {window({{dev0, make_share(dev0, {{}, {.waits_for = 1}})}}),
                  window({{dev0, make_share(dev0, {{.waits_for = 3}}, 1, true, 2)},
                          {dev1, make_share(dev1, {{.waits_for = 2}, {}}, 1, true, 3)}},
                         at_once)});
    run.begin();
    const std::optional<RunResult> result = run.end();
    BOOST_TEST_REQUIRE(result.has_value());
    BOOST_TEST((result->ending == Ending::failed));
    BOOST_TEST(result->failure.cause == "nothing is in flight and 3 ops and transfers are pending");
    Pending stuck;
    for (const auto& s : result->failure.stuck) stuck.insert({s.pending, s.missing});
    BOOST_TEST((stuck == Pending{{UnitId{1}, 1}, {UnitId{3}, 2}}));
    BOOST_TEST(finished(result->shares) == 2U);
  }
}

BOOST_AUTO_TEST_CASE(an_interrupt_at_any_step_ends_the_run_and_loses_no_finished_item) {
  std::set<std::size_t> lengths;
  for (std::size_t steps = 0; steps < 60; ++steps) {
    BOOST_TEST_CONTEXT("after " << steps << " steps") {
      ResourceShares all;
      SmallRun run(true, [&](ResourceShares done) {
        std::move(done.begin(), done.end(), std::back_inserter(all));
      });
      run.begin();
      for (Window& w : overlapping()) run.take(std::move(w));
      run.steps(steps);
      run.interrupt();
      run.last_window();
      std::optional<RunResult> result = run.end();
      BOOST_TEST_REQUIRE(result.has_value());
      BOOST_TEST((result->ending != Ending::failed));
      std::move(result->shares.begin(), result->shares.end(), std::back_inserter(all));
      BOOST_TEST(finished(all) == run.items_done());
      std::set<std::pair<ResourceId, std::uint32_t>> distinct;
      for (const auto& [resource, share] : all) distinct.insert({resource, share.window});
      BOOST_TEST(distinct.size() == all.size());
      lengths.insert(finished(all));
    }
  }
  // Some runs ended before any item was done, some after all were done.
  BOOST_TEST(*lengths.begin() == 0U);
  BOOST_TEST(*lengths.rbegin() == 4U);
  BOOST_TEST(lengths.size() > 2U);
}

BOOST_AUTO_TEST_CASE(an_actor_that_dies_at_any_step_ends_the_run) {
  for (const ResourceId dying : {dev0, dev1}) {
    for (std::size_t steps = 0; steps < 60; ++steps) {
      SmallRun run(true);
      run.begin();
      for (Window& w : overlapping()) run.take(std::move(w));
      run.steps(steps);
      run.kill(dying);
      run.last_window();
      BOOST_TEST(run.end().has_value());
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
