// The times of ops on a GPU, on the clock of the run.
#include "actors/runner.hpp"
#include "tests/gpu/gpu_fixture.hpp"
#include "tests/support/small_graph.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(gpu_times)
namespace {

using namespace testing;
using namespace std::chrono_literals;

}  // namespace

// before (cpu0) → copy → on_gpu (gpu0). The GPU passes each event up to 20 ms late, those of its
// clock, too: if their delays were unknown, the times of all that it does would be early by them.
BOOST_AUTO_TEST_CASE(an_op_does_not_seem_to_begin_before_what_it_waits_for_has_ended,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  fixture.set("late_events", 1);
  fixture.set("delay_max_us", 20'000);
  for (std::int64_t seed = 1; seed <= 8; ++seed) {
    fixture.set("seed", seed);
    SmallGraph g;
    const OpId before = g.op("before", "uniform", {}, on(DeviceId{0}), {}, {DType::f32, {8, 8}});
    g.op("on_gpu", "relu", {before}, on(DeviceId{1}));
    const std::vector<Scenario> scenarios{g.everything()};
    const ScenarioReport s = Run(gpu_machine(1), g.graph, scenarios, {}).perform().scenarios.at(0);
    BOOST_TEST_REQUIRE((s.outcome == Outcome::done), s.error);
    Instant end;
    Instant earliest = Instant::max();
    for (const Span& span : s.timeline.spans) {
      if (s.timeline.name(span) == "before") {
        end = span.end;
      } else {
        earliest = std::min(earliest, span.start);
      }
    }
    BOOST_TEST((earliest > end - 5ms), "seed " << seed);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
