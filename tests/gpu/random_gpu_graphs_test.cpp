// Random graphs on a CPU and 1 to 3 GPUs: every result is near the serial execution's, whatever the
// order in which streams do their work, also where ops wait for room, and the stand-in finds no
// race.
#include "actors/runner.hpp"
#include "tests/gpu/gpu_fixture.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/seeds.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(random_gpu_graphs)
namespace {

using namespace testing;

template <class T, std::size_t n>
T pick(Random& random, const std::array<T, n>& choices) {
  return choices[random.below(n)];
}

Machine random_gpu_machine(Random& random) {
  const auto gpus = static_cast<int>(1 + random.below(std::min(gpu_count(), 3)));
  Machine m = gpu_machine(gpus);
  for (Device& device : m.devices) {
    if (device.kind != DeviceKind::gpu) continue;
    device.streams = static_cast<int>(1 + random.below(3));
    device.issue_depth = pick(random, std::array{1, 2, 64, 64, 64});
    device.flops = pick(random, std::array{1e8, 1e9, 1e11});
  }
  std::erase_if(m.links, [&](const Link& link) {
    return link.name.starts_with("peer") && random.below(2) == 0;
  });
  for (Link& link : m.links) {
    link.sharing = pick(random, std::array{Sharing::fifo, Sharing::fair});
    link.chunk_bytes =
        pick<std::uint64_t>(random, std::array<std::uint64_t, 3>{1000, 4096, 1 << 20});
  }
  return m;
}

// Takes memory from the GPUs, as long as the scenario can still be planned. Returns how often it
// has halved it.
int make_scarce(Machine& machine, const Graph& graph, const std::vector<Scenario>& scenarios) {
  for (int halvings = 0; halvings < 20; ++halvings) {
    Machine less = machine;
    for (Memory& memory : std::span(less.memories).subspan(1)) memory.size_bytes /= 2;
    try {
      const Run run(less, graph, scenarios, {.mode = Mode::simulate});
    } catch (const Error&) {
      return halvings;
    }
    machine = less;
  }
  return 20;
}

struct GpuCase {
  explicit GpuCase(std::uint64_t seed)
      : random(seed),
        machine(random_gpu_machine(random)),
        graph(random_graph(random, machine, {.may_round = true, .half_on = DeviceId{0}})),
        scenarios{random_scenario(random, graph)} {
    if (seed % 2 == 0) halvings = make_scarce(machine, graph, scenarios);
  }

  Random random;
  Machine machine;
  Graph graph;
  std::vector<Scenario> scenarios;
  int halvings = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(results_are_near_those_of_a_serial_execution,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  int scarce = 0;
  for (std::uint64_t seed = first_seed(); seed <= seeds(120); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const GpuCase c(seed);
      scarce += c.halvings > 0 ? 1 : 0;
      fixture.set("seed", static_cast<std::int64_t>(seed));
      fixture.set("delay_max_us", seed % 8 < 2 ? 1000 : 100);
      const Report report = Run(c.machine, c.graph, c.scenarios, {}).perform();
      BOOST_TEST_REQUIRE(report.scenarios.size() == 1U);
      const ScenarioReport& s = report.scenarios[0];
      BOOST_TEST_REQUIRE((s.outcome == Outcome::done), s.error);
      BOOST_TEST((s.verified == true), s.mismatch);
      BOOST_TEST(fixture.failures() == "");
    }
  }
  if (first_seed() + 10 < seeds(120)) BOOST_TEST(scarce > 0);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
