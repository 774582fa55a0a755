// Transfers of several chunks, with values.
#include "actors/runner.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(chunked_transfers)
namespace {

using testing::on;
using testing::SmallGraph;
using testing::SmallMachine;

// x on dev0 ══ y on dev1: ten chunks. The link is the only reader of x, and memory is too small to
// keep x as a result.
BOOST_AUTO_TEST_CASE(a_source_is_held_until_its_last_chunk_has_moved) {
  constexpr std::int64_t bytes = 40'960;
  SmallMachine m;
  const MemoryId a = m.memory("a", 2 * bytes);
  const MemoryId b = m.memory("b", 4 * bytes);
  const DeviceId dev0 = m.device("dev0", a);
  const DeviceId dev1 = m.device("dev1", b);
  m.link("link", a, b, Duration{0}, Sharing::fair, 4096);
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(dev0), {{"seed", 1}}, testing::of_bytes(bytes));
  g.op("y", "relu", {x}, on(dev1));
  const std::vector<Scenario> scenarios{g.everything()};
  const Report report = Run(m.machine, g.graph, scenarios, {.mode = Mode::rehearse}).perform();
  BOOST_TEST_REQUIRE(report.scenarios.size() == 1U);
  BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
  BOOST_TEST(report.scenarios[0].transfers == 1U);
  BOOST_TEST((report.scenarios[0].verified == true));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
