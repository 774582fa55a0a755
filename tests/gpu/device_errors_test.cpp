// Errors of a GPU during a run: out of memory, sticky errors, faults of kernels, a lost device. The
// run ends, says what failed and what to do, and reports what finished; the next one is as good.
#include "actors/runner.hpp"
#include "tests/gpu/gpu_fixture.hpp"
#include "tests/support/small_graph.hpp"

#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(device_errors)
namespace {

using namespace testing;

// x (gpu0) → run[0] → … → run[9], and a copy of each, to the host and to gpu1.
struct Chain : SmallGraph {
  Chain() {
    OpId last = op("x", "uniform", {}, on(DeviceId{1}), {}, {DType::f32, {32, 32}});
    for (int i = 0; i < 10; ++i) {
      const std::string number = std::to_string(i);
      last = op("run" + number, "matmul", {last, last}, on(DeviceId{1}));
      copy("copy" + number, last, to(MemoryId{0}));
      op("other" + number, "relu", {last}, on(DeviceId{2}));
    }
    scenarios = {everything()};
  }

  std::vector<Scenario> scenarios;
};

struct Outcomes {
  int done = 0;
  int failed = 0;
  int refused = 0;  // an Error before anything had begun
};

// Runs the graph with an injection at the n-th event, for the numbers from 1 to `last` in steps.
// Checks that each run is right, or fails with the words of `says`.
Outcomes inject(const StandInFixture& fixture, const char* what, int last, int step,
                const std::vector<std::string>& says) {
  Outcomes outcomes;
  const auto check_words = [&](const std::string& text) {
    BOOST_TEST(text.find("; ") != std::string::npos, "no remedy in: " << text);
    for (const std::string& words : says) {
      if (text.find(words) != std::string::npos) return;
    }
    BOOST_ERROR("an error that wasn't expected: " << text);
  };
  for (int n = 1; n <= last; n += step) {
    BOOST_TEST_CONTEXT(what << " " << n) {
      const Chain chain;
      fixture.set("seed", n);
      fixture.set(what, n);
      try {
        const Report report = Run(gpu_machine(2, 2), chain.graph, chain.scenarios, {}).perform();
        const ScenarioReport& s = report.scenarios.at(0);
        if (s.outcome == Outcome::done) {
          BOOST_TEST((s.verified == true), s.mismatch);
          ++outcomes.done;
        } else {
          BOOST_TEST((s.outcome == Outcome::failed));
          BOOST_TEST(s.finished <= s.planned);
          check_words(s.error);
          ++outcomes.failed;
        }
      } catch (const Error& error) {
        check_words(error.what());
        ++outcomes.refused;
      }
      fixture.set(what, 0);
      fixture.stand_in()->restore_devices();
      fixture.stand_in()->check_leaks();
      BOOST_TEST(fixture.failures() == "");
    }
  }
  return outcomes;
}

// How many calls of CUDA a run makes.
int calls_of_a_run(const StandInFixture& fixture) {
  const Chain chain;
  fixture.set("calls", 0);
  Run(gpu_machine(2, 2), chain.graph, chain.scenarios, {}).perform();
  return static_cast<int>(fixture.get("calls"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(memory_that_ends_at_any_allocation_ends_the_run_with_a_message,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  const Outcomes outcomes = inject(fixture, "out_of_memory_at", 60, 1,
                                   {"out of memory", "has no memory for a tensor",
                                    "allocation failed", "cuSOLVER's status is 2"});
  BOOST_TEST(outcomes.failed + outcomes.refused > 0);
  BOOST_TEST(outcomes.done > 0);
}

BOOST_AUTO_TEST_CASE(a_sticky_error_at_any_call_ends_the_run_with_a_message,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  const Outcomes outcomes =
      inject(fixture, "sticky_error_at", calls_of_a_run(fixture), 100,
             {"illegal memory access", "failed to launch", "cuSOLVER's status is"});
  BOOST_TEST(outcomes.failed > 0);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_lost_ends_the_run_with_a_message,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  const Outcomes outcomes = inject(
      fixture, "device_lost_at", calls_of_a_run(fixture), 100,
      {"busy or unavailable", "failed to launch", "not initialized", "cuSOLVER's status is"});
  BOOST_TEST(outcomes.failed > 0);
}

BOOST_AUTO_TEST_CASE(a_fault_in_any_kernel_ends_the_run_with_a_message,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  const Outcomes outcomes = inject(fixture, "kernel_fault_at", 12, 1, {"illegal memory access"});
  BOOST_TEST(outcomes.failed > 0);
}

BOOST_AUTO_TEST_CASE(a_gpu_that_the_kernels_were_not_built_for_is_refused_with_a_message,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  const Outcomes outcomes =
      inject(fixture, "no_kernel_image", 1, 1, {"no kernel image is available"});
  BOOST_TEST(outcomes.refused == 1);
}

BOOST_AUTO_TEST_CASE(gpus_without_access_to_each_other_copy_all_the_same,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  for (const char* const why : {"no_peer_access", "peers_refused"}) {
    const Outcomes outcomes = inject(fixture, why, 1, 1, {});
    BOOST_TEST(outcomes.done == 1, why);
  }
}

// The calls that pin memory of the host would fail.
BOOST_AUTO_TEST_CASE(a_gpu_that_is_not_in_the_machine_may_be_lost,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(DeviceId{1}), {}, {DType::f32, {32, 32}});
  g.copy("copy", x, to(MemoryId{0}));
  Machine machine = gpu_machine(1);
  machine.devices[1].gpu = 1;
  const auto is_lost = [] { return !cuda_gpus().front().problem.empty(); };
  for (std::int64_t n = 1; n < 10 && !is_lost(); ++n) {
    fixture.set("device_lost_at", n);
    std::thread([] { cuda_gpus(); }).join();  // opens GPU 0 first
  }
  BOOST_TEST_REQUIRE(is_lost());
  const std::vector<Scenario> scenarios{g.everything()};
  const ScenarioReport s = Run(machine, g.graph, scenarios, {}).perform().scenarios.at(0);
  BOOST_TEST((s.outcome == Outcome::done), s.error);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
