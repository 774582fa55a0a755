// Op kinds on a GPU in runs: ops in place, several outputs from a CPU, ops that fail on the device.
#include "actors/runner.hpp"
#include "tests/gpu/gpu_fixture.hpp"
#include "tests/support/small_graph.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(gpu_ops)
namespace {

using namespace testing;

const DeviceId cpu{0};
const DeviceId gpu{1};
const TensorType square{DType::f64, {48, 48}};

ScenarioReport perform(const SmallGraph& g, const Machine& machine, RunOptions options = {}) {
  const std::vector<Scenario> scenarios{g.everything()};
  return Run(machine, g.graph, scenarios, options).perform().scenarios.at(0);
}

void check_right(const SmallGraph& g, const Machine& machine) {
  const ScenarioReport s = perform(g, machine);
  BOOST_TEST_REQUIRE((s.outcome == Outcome::done), s.error);
  BOOST_TEST((s.verified == true), s.mismatch);
}

void check_contains(const std::string& text, const std::string& words) {
  BOOST_TEST(text.find(words) != std::string::npos, "no '" << words << "' in: " << text);
}

}  // namespace

// x → x + c, ten times: of each result the next op is the last reader.
BOOST_AUTO_TEST_CASE(ops_compute_in_place_on_a_gpu, *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  SmallGraph g;
  const OpId c = g.op("c", "uniform", {}, on(gpu), {}, square);
  OpId last = g.op("x", "uniform", {}, on(gpu), {{"seed", std::int64_t{7}}}, square);
  for (int i = 0; i < 10; ++i) {
    last = g.op("add" + std::to_string(i), "add", {last, c}, on(gpu));
    last = g.op("relu" + std::to_string(i), "relu", {last}, on(gpu));
    last = g.op("gemm" + std::to_string(i), "gemm", {c, c, last}, on(gpu), {{"beta", 0.5}});
  }
  g.copy("back", last, to(MemoryId{0}));
  for (const int depth : {1, 2, 64}) check_right(g, gpu_machine(1, 2, depth));
}

// A memory in which few tensors fit: buffers are used again as soon as their readers are done.
BOOST_AUTO_TEST_CASE(buffers_are_used_again_only_when_their_readers_are_done,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  SmallGraph g;
  OpId last = g.op("x", "uniform", {}, on(gpu), {}, square);
  for (int i = 0; i < 40; ++i) {
    last = g.op("scale" + std::to_string(i), "scale", {last}, on(gpu), {{"alpha", 1.01}});
    g.copy("copy" + std::to_string(i), last, to(MemoryId{0}));
  }
  for (const std::uint64_t tensors : {3, 4, 8}) {
    for (std::int64_t seed = 1; seed <= 5; ++seed) {
      fixture.set("seed", seed);
      Machine machine = gpu_machine(1, 2);
      machine.memories[1].size_bytes = tensors * square.bytes();
      check_right(g, machine);
    }
  }
}

// x (cpu0) → half, sum, twice (cpu0) → their sums (gpu0)
BOOST_AUTO_TEST_CASE(a_gpu_reads_each_output_of_an_op, *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(gpu), {}, square);
  const OpId half = g.op("half", "half", {x}, on(cpu));
  const OpId sum{half.value + 1};
  const OpId twice{half.value + 2};
  const OpId both = g.op("both", "add", {half, twice}, on(gpu));
  g.op("all", "mul", {both, sum}, on(gpu));
  check_right(g, gpu_machine(1, 2));
}

// x (gpu0) → bad (gpu0) → after (gpu0)
BOOST_AUTO_TEST_CASE(a_matrix_without_a_factor_ends_the_run_with_its_op_and_why,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  SmallGraph g;
  const OpId x = g.op("x", "zeros", {}, on(gpu), {}, square);
  const OpId bad = g.op("bad", "potrf", {x}, on(gpu));
  g.op("after", "relu", {bad}, on(gpu));
  const ScenarioReport s = perform(g, gpu_machine(1));
  BOOST_TEST((s.outcome == Outcome::failed));
  check_contains(s.error, "'bad' on gpu0");
  check_contains(s.error, "not positive definite: its first 1 rows and columns");
  check_contains(s.error, "only symmetric matrices");
  BOOST_TEST(!s.verified.has_value());
  BOOST_TEST(s.finished >= 1U);
  BOOST_TEST(s.finished < s.planned);
}

// x → bad → r[i], copied to the host: what was issued after `bad` is carried out all the same.
BOOST_AUTO_TEST_CASE(what_depends_on_an_op_that_failed_is_not_reported_as_finished,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  SmallGraph g;
  const OpId x = g.op("x", "zeros", {}, on(gpu), {}, square);
  OpId last = g.op("bad", "potrf", {x}, on(gpu));
  for (int i = 0; i < 20; ++i) {
    last = g.op("r" + std::to_string(i), "relu", {last}, on(gpu));
    g.copy("copy" + std::to_string(i), last, to(MemoryId{0}));
  }
  for (const int depth : {1, 2, 64}) {
    for (const int streams : {1, 3}) {
      const ScenarioReport s = perform(g, gpu_machine(1, streams, depth));
      check_contains(s.error, "'bad' on gpu0");
      BOOST_TEST(s.finished == 1U, "depth " << depth << ": " << s.finished << " finished");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_failing_op_beside_a_gpu_ends_the_run,
                     *boost::unit_test::precondition(has_gpu)) {
  const StandInFixture fixture;
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(gpu), {}, square);
  const OpId bad = g.op("bad", "fail", {x}, on(cpu));
  g.op("after", "relu", {bad}, on(gpu));
  const ScenarioReport s = perform(g, gpu_machine(1));
  check_contains(s.error, "'bad' on cpu0");
  check_contains(s.error, "failed on purpose");
  BOOST_TEST(s.finished >= 2U);  // x and its transfer
}

BOOST_AUTO_TEST_CASE(an_op_that_a_gpu_can_not_compute_is_refused,
                     *boost::unit_test::precondition(has_gpu)) {
  SmallGraph g;
  g.op("bad", "fail", {}, on(gpu));
  BOOST_CHECK_EXCEPTION(perform(g, gpu_machine(1)), Error, [](const Error& error) {
    check_contains(error.what(), "'bad' is placed on gpu0, which has no kernel for 'fail'");
    return error.kind() == ErrorKind::usage;
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
