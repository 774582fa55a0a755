// Short ops go to a GPU together: one launch of several kernels, and one event behind them.
#include "actors/runner.hpp"
#include "tests/gpu/gpu_fixture.hpp"
#include "tests/support/small_graph.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(launched_together)
namespace {

using namespace testing;
using namespace std::chrono_literals;

const DeviceId gpu{1};
const MemoryId host{0};

// x → p[0], …, p[count - 1] on gpu0: short ops that don't depend on each other.
SmallGraph independent_products(int count) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(gpu), {}, {DType::f32, {8, 8}});
  for (int i = 0; i < count; ++i) g.op("p" + std::to_string(i), "matmul", {x, x}, on(gpu));
  return g;
}

ScenarioReport perform(const SmallGraph& g, const Machine& machine, RunOptions options = {}) {
  const std::vector<Scenario> scenarios{g.everything()};
  ScenarioReport report = Run(machine, g.graph, scenarios, options).perform().scenarios.at(0);
  BOOST_TEST_REQUIRE((report.outcome == Outcome::done), report.error);
  return report;
}

// How often the host has launched anything.
std::int64_t launches_of(const StandInFixture& fixture, const SmallGraph& g, int issue_depth) {
  fixture.set("launches", 0);
  perform(g, gpu_machine(1, 1, issue_depth));
  return fixture.get("launches");
}

}  // namespace

BOOST_AUTO_TEST_CASE(short_ops_that_are_ready_need_a_launch_for_sixteen_of_them,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  const SmallGraph one = independent_products(1);
  const SmallGraph many = independent_products(63);
  perform(one, gpu_machine(1));  // so that the ops are known, and no more warmed up
  const std::int64_t before_ops = launches_of(fixture, one, 64) - 1;
  BOOST_TEST(launches_of(fixture, many, 64) == before_ops + 4);  // x and 63 products
  // A device of depth 1 gets an op when the one before has ended.
  BOOST_TEST(launches_of(fixture, many, 1) == before_ops + 64);
}

BOOST_AUTO_TEST_CASE(each_op_is_launched_by_itself_where_graphs_are_not_wanted,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  const auto launches = [&](int count, bool has_graphs) {
    Machine machine = gpu_machine(1);
    machine.devices[gpu.index()].cuda_graphs = has_graphs;
    const SmallGraph g = independent_products(count);
    perform(g, machine);  // so that the ops are known, and no more warmed up
    fixture.set("launches", 0);
    const ScenarioReport report = perform(g, machine);
    BOOST_TEST((report.verified == true));
    return fixture.get("launches");
  };
  BOOST_TEST(launches(63, true) - launches(1, true) == 3);
  BOOST_TEST(launches(63, false) - launches(1, false) == 62);
}

BOOST_AUTO_TEST_CASE(results_and_times_are_those_of_each_op,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  for (std::int64_t seed = 1; seed <= 8; ++seed) {
    fixture.set("seed", seed);
    const ScenarioReport report = perform(independent_products(63), gpu_machine(1));
    BOOST_TEST((report.verified == true), "seed " << seed);
    auto spans = report.timeline.spans;
    BOOST_TEST(spans.size() == 64U);
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return std::pair(a.start, a.end) < std::pair(b.start, b.end);
    });
    for (std::size_t i = 0; i + 1 < spans.size(); ++i) {
      BOOST_TEST((spans[i].start <= spans[i].end && spans[i].end <= spans[i + 1].start),
                 "seed " << seed << ", span " << i);
    }
    BOOST_TEST((spans.front().start < spans.back().end), "seed " << seed);
  }
}

// Of three kernels each, which are two chains. The end of an op that is submitted with a long one,
// before or behind it, would be noticed late.
BOOST_AUTO_TEST_CASE(long_ops_are_launched_one_by_one,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  const auto launches = [&](Duration duration) {
    SmallGraph g;
    const OpId x = g.op("x", "uniform", {}, on(gpu), {}, {DType::f32, {8, 8}});
    for (int i = 0; i < 10; ++i) {
      g.op("nap" + std::to_string(i), "sleep", {x}, on(gpu), {{"duration", duration}});
    }
    perform(g, gpu_machine(1));  // so that the ops are known, and no more warmed up
    return launches_of(fixture, g, 64);
  };
  const std::int64_t of_long_ones = launches(100us);
  const std::int64_t of_short_ones = launches(1us);
  // All 31 kernels are chains of 16, 8, 4, 2 and 1.
  BOOST_TEST(of_long_ones - 21 == of_short_ones - 5);
}

// spin has a kernel for each input, and so more than are launched together.
BOOST_AUTO_TEST_CASE(an_op_of_many_kernels_goes_between_others,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  for (std::int64_t seed = 1; seed <= 4; ++seed) {
    fixture.set("seed", seed);
    SmallGraph g;
    OpId last = g.op("x", "uniform", {}, on(gpu), {}, {DType::f64, {8, 8}});
    for (int i = 0; i < 3; ++i) {
      std::vector<OpId> inputs(5, last);
      for (int k = 0; k < 35; ++k) {
        const std::string name = "p" + std::to_string(36 * i + k);
        inputs.push_back(g.op(name, "scale", {last}, on(gpu), {{"alpha", 0.5 + k}}));
      }
      g.op("many" + std::to_string(i), "spin", inputs, on(gpu), {{"iterations", std::int64_t{9}}});
      last = inputs.back();
    }
    const ScenarioReport report = perform(g, gpu_machine(1));
    BOOST_TEST((report.verified == true), "seed " << seed);
  }
}

// A chain of short ops, of which each needs what the one before has made, and their copies.
BOOST_AUTO_TEST_CASE(dependent_ops_of_two_streams_keep_their_order,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  for (std::int64_t seed = 1; seed <= 8; ++seed) {
    fixture.set("seed", seed);
    SmallGraph g;
    OpId a = g.op("a", "uniform", {}, on(gpu), {}, {DType::f64, {4, 4}});
    OpId b = a;
    for (int i = 0; i < 40; ++i) {
      const OpId next = g.op("a" + std::to_string(i), "sub", {a, b}, on(gpu));
      b = g.op("b" + std::to_string(i), "matmul", {b, a}, on(gpu));
      a = next;
      if (i % 10 == 0) g.copy("copy" + std::to_string(i), b, to(host));
    }
    const ScenarioReport report = perform(g, gpu_machine(1, 2));
    BOOST_TEST((report.verified == true), "seed " << seed);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
