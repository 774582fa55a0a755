// When the coordinator hears how far a share has come that isn't complete.
#include "tests/unit/actors/runner_fixture.hpp"
#include "tests/unit/actors/small_run.hpp"

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
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

// A chain on one device, which gets no message meanwhile. Its ops take long until progress is
// known.
BOOST_AUTO_TEST_CASE(progress_is_known_of_a_real_device_that_always_has_an_op_to_compute) {
  static std::atomic<bool> is_known;
  is_known = false;
  const OpRegistry ops = testing::ops_with("waiter", [](const CpuCall& call) {
    std::memset(call.output.data, 0, call.output.type.bytes());
    if (!is_known) std::this_thread::sleep_for(1ms);
  });
  testing::SmallGraph g;
  g.graph = Graph(ops);
  std::vector<OpId> last;
  for (int i = 0; i < 30'000; ++i) {
    last = {g.op("x", "waiter", last, testing::on(testing::dev0), {{"flops", 1.0}},
                 testing::of_bytes(8))};
  }
  RunOptions options{.mode = Mode::run, .verify = false};
  std::set<std::uint64_t> known;
  options.on_progress = [&](const RunProgress& p) {
    if (p.phase != RunProgress::Phase::running || p.done == 0 || p.done == p.total) return;
    known.insert(p.done);
    is_known = known.size() > 3;
  };
  const Machine machine = testing::two_devices({.streams = 1});
  const Report report = testing::perform(g, {g.everything()}, options, machine);
  BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
  BOOST_TEST(is_known);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
