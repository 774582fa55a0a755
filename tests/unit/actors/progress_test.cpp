// When the coordinator hears how far a share has come that isn't complete.
#include "tests/unit/actors/small_run.hpp"

#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(progress)
namespace {

using testing::Item;
using testing::make_share;
using testing::SmallRun;
using testing::window;
using namespace std::chrono_literals;

// What was known at any time of a run of so many items, one after the other.
std::set<std::uint64_t> known_of(std::size_t items, Duration each) {
  constexpr ResourceId dev1{1};
  SmallRun run(true,
               {window({{dev1, make_share(dev1, std::vector(items, Item{.expected = each}))}})});
  run.begin();
  std::set<std::uint64_t> known;
  while (run.items_done() < items) {
    run.steps(1);
    known.insert(run.items_done());
    BOOST_TEST_REQUIRE(known.size() < 100U);
  }
  BOOST_TEST(run.end().has_value());
  return known;
}

BOOST_AUTO_TEST_CASE(progress_of_long_ops_is_known_every_tenth_of_a_second) {
  BOOST_TEST((known_of(5, 60ms) == std::set<std::uint64_t>{0, 2, 4, 5}));
}

BOOST_AUTO_TEST_CASE(progress_of_short_ops_is_known_every_few_thousand) {
  BOOST_TEST((known_of(10'000, 1us) == std::set<std::uint64_t>{0, 4096, 8192, 10'000}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
