// A node that is lost when its work is done: while results are verified.
#include "actors/nodes/cluster.hpp"
#include "actors/runner.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "tests/support/node_process.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <vector>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(late_loss)

// Six naps, three of which are made again; to verify them takes as long as all of them.
BOOST_AUTO_TEST_CASE(a_makespan_has_no_time_of_verification) {
  using namespace troupe;
  using namespace troupe::testing;
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  const Workspace files;
  NodeProcess first(files);
  NodeProcess second(files);  // is lost
  Cluster cluster(pattern_ops(), {.addresses = {first.address(), second.address()}});
  Graph graph(pattern_ops());
  const GroupId naps = graph.begin_group("nap", true);
  for (const std::uint32_t device : {0, 1, 0, 1, 0, 1}) {
    graph.append({.kind = graph.kinds().find("sleep"),
                  .placement = {.device = DeviceId{device}},
                  .attrs = {{"duration", Duration(400ms)}}});
  }
  const std::vector<Scenario> scenarios{{.name = "naps", .steps = {Step{.group = naps}}}};
  std::vector<Clock::time_point> verified_from;
  std::optional<Clock::time_point> killed;
  bool is_running = true;
  const auto on_progress = [&](const RunProgress& progress) {
    const bool verifies = progress.phase == RunProgress::Phase::verifying;
    if (verifies && is_running) verified_from.push_back(Clock::now());
    is_running = !verifies;
    if (killed || !verifies || Clock::now() - verified_from.front() < 200ms) return;
    killed = Clock::now();
    second.program().send(SIGKILL);
  };
  const Clock::time_point began = Clock::now();
  Run run(cluster.machine(), graph, scenarios,
          {.cluster = &cluster, .on_loss = OnLoss::replan, .on_progress = on_progress});
  const Report report = run.perform();
  second.end();
  BOOST_TEST_REQUIRE(report.scenarios.size() == 1U);
  BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
  BOOST_TEST((report.scenarios[0].verified == true));
  BOOST_TEST_REQUIRE(verified_from.size() == 2U);
  BOOST_TEST_REQUIRE(killed.has_value());
  // From the beginning to the first verification, and from the kill to the second one.
  const Duration ran = (verified_from[0] - began) + (verified_from[1] - *killed);
  BOOST_TEST(report.scenarios[0].makespan.count() <= ran.count());
  BOOST_TEST(report.scenarios[0].makespan.count() >= Duration(2400ms).count());
}

BOOST_AUTO_TEST_SUITE_END()
