#include "tests/unit/actors/runner_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(interrupts)
namespace {

using testing::all_modes;
using testing::dev0;
using testing::dev1;
using testing::fork;
using testing::on;
using testing::ops_with;
using testing::pair;
using testing::perform;
using testing::SmallGraph;

// An op kind `stuck`: one call of its kernel lasts as long as this object, which must be destroyed
// before the Run, whose destructor waits for kernels.
class StuckKernel {
 public:
  // `call`: the one that gets stuck, counted from 1. `is_stuck` is true from then on.
  explicit StuckKernel(int call) {
    is_stuck = false;
    calls_left_ = call;
  }
  ~StuckKernel() {
    calls_left_ = 0;
    calls_left_.notify_all();
  }
  StuckKernel(const StuckKernel&) = delete;
  StuckKernel& operator=(const StuckKernel&) = delete;

  static SmallGraph graph() {
    static const OpRegistry ops = ops_with("stuck", compute);
    SmallGraph g;
    g.graph = Graph(ops);
    return g;
  }
  inline static std::atomic<bool> is_stuck;

 private:
  static constexpr int stuck_now = -1;
  static void compute(const CpuCall& call) {
    int left = calls_left_;
    if (left > 1) calls_left_ = left - 1;
    if (left == 1) {
      calls_left_ = stuck_now;
      is_stuck = true;
      calls_left_.wait(stuck_now);
    }
    std::memset(call.output.data, 0, call.output.type.bytes());
  }
  inline static std::atomic<int> calls_left_;
};

BOOST_AUTO_TEST_CASE(an_interrupt_before_the_start_performs_nothing) {
  const SmallGraph g = fork();
  const std::atomic<bool> interrupted = true;
  for (const Mode mode : all_modes) {
    const Report report = perform(g, {g.everything()}, {.mode = mode, .interrupted = &interrupted});
    BOOST_TEST(report.interrupted);
    BOOST_TEST_REQUIRE(report.scenarios.size() == 1U);
    BOOST_TEST((report.scenarios[0].outcome == Outcome::not_run));
    BOOST_TEST(report.scenarios[0].ops == 0U);
  }
}

// A chain of 20,001 ops, interrupted when progress is reported first.
BOOST_AUTO_TEST_CASE(an_interrupt_ends_the_run_and_keeps_what_has_finished) {
  SmallGraph g;
  OpId last = g.work("x", 1e6, {}, on(dev0));
  for (int i = 0; i < 20'000; ++i) last = g.work("x", 1e6, {last}, on(dev0));
  std::atomic<bool> interrupted = false;
  RunOptions options{.mode = Mode::simulate, .interrupted = &interrupted};
  options.on_progress = [&](const RunProgress& p) {
    if (p.phase == RunProgress::Phase::running) interrupted = true;
  };
  const Report report = perform(g, {g.everything(), g.everything()}, options);
  BOOST_TEST(report.interrupted);
  BOOST_REQUIRE(report.scenarios.size() == 2U);
  const ScenarioReport& s = report.scenarios[0];
  BOOST_TEST((s.outcome == Outcome::interrupted));
  BOOST_TEST((report.scenarios[1].outcome == Outcome::not_run));
  BOOST_TEST(report.scenarios[1].ops == 0U);
  BOOST_TEST(s.ops < 20'001U);
  BOOST_TEST(s.ops == s.timeline.spans.size());
}

BOOST_AUTO_TEST_CASE(an_interrupt_after_the_last_op_is_no_interruption) {
  const SmallGraph g = fork();
  for (const Mode mode : all_modes) {
    std::atomic<bool> interrupted = false;
    RunOptions options{.mode = mode, .verify = false, .interrupted = &interrupted};
    options.on_progress = [&](const RunProgress& p) {
      if (p.phase == RunProgress::Phase::running && p.done == p.total) interrupted = true;
    };
    const Report report = perform(g, {g.everything()}, options);
    BOOST_TEST(interrupted);
    BOOST_TEST(!report.interrupted);
    BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
    BOOST_TEST(report.scenarios[0].finished == report.scenarios[0].planned);
  }
}

// The only op is under way when the interrupt comes: it finishes, and with it the scenario. Nothing
// is missing but the comparison with a serial execution, where that is wanted.
BOOST_AUTO_TEST_CASE(an_interrupt_during_the_last_op_is_no_interruption_but_of_verification) {
  static std::atomic<int> calls;
  static std::atomic<int> words;  // of progress since the first call
  const OpRegistry ops = ops_with("waiter", [](const CpuCall& call) {
    std::memset(call.output.data, 0, call.output.type.bytes());
    ++calls;
    while (words < 3) std::this_thread::yield();
  });
  for (const bool verify : {false, true}) {
    calls = words = 0;
    SmallGraph g;
    g.graph = Graph(ops);
    g.op("last", "waiter", {}, on(dev0), {{"flops", 1.0}}, testing::of_bytes(8));
    std::atomic<bool> interrupted = false;
    RunOptions options{.mode = Mode::run,
                       .verify = verify,
                       .interrupted = &interrupted,
                       .grace = std::chrono::hours(1)};
    options.on_progress = [&](const RunProgress&) {
      if (calls == 0) return;
      interrupted = true;
      ++words;
    };
    const Report report = perform(g, {g.everything()}, options);
    BOOST_TEST(interrupted);
    BOOST_TEST(report.interrupted == verify);
    BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
    BOOST_TEST(report.scenarios[0].ops == 1U);
    BOOST_TEST(!report.scenarios[0].verified.has_value());
    BOOST_TEST(calls == 1);
  }
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_results_are_compared_is_reported) {
  const SmallGraph g = fork();
  std::atomic<bool> interrupted = false;
  RunOptions options{.mode = Mode::rehearse, .interrupted = &interrupted};
  options.on_progress = [&](const RunProgress& p) {
    if (p.phase == RunProgress::Phase::verifying) interrupted = true;
  };
  const Report report = perform(g, {g.everything(), g.everything()}, options);
  BOOST_TEST(report.interrupted);
  BOOST_REQUIRE(report.scenarios.size() == 2U);
  BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
  BOOST_TEST(!report.scenarios[0].verified.has_value());
  BOOST_TEST((report.scenarios[1].outcome == Outcome::not_run));
}

BOOST_AUTO_TEST_CASE(progress_counts_up_to_all_ops_and_transfers) {
  const SmallGraph g = fork();
  std::uint64_t done_max = 0;
  std::vector<RunProgress::Phase> phases;
  RunOptions options{.mode = Mode::rehearse};
  options.on_progress = [&](const RunProgress& p) {
    BOOST_TEST(p.scenario == "everything");
    BOOST_TEST(p.done <= p.total);
    if (p.phase == RunProgress::Phase::running) done_max = std::max(done_max, p.done);
    if (phases.empty() || phases.back() != p.phase) phases.push_back(p.phase);
  };
  perform(g, {g.everything()}, options);
  BOOST_TEST(done_max == 4U);
  BOOST_TEST((phases == std::vector{RunProgress::Phase::reserving, RunProgress::Phase::running,
                                    RunProgress::Phase::verifying}));
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_buffers_are_reserved_performs_nothing) {
  SmallGraph g;
  for (int i = 0; i < 4; ++i) {
    g.op("x", "uniform", {}, on(dev0), {{"seed", 1}}, {DType::f64, {1024, 1024}});
  }
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    std::atomic<bool> interrupted = false;
    RunOptions options{.mode = mode, .interrupted = &interrupted};
    options.on_progress = [&](const RunProgress& p) {
      BOOST_TEST((p.phase == RunProgress::Phase::reserving));
      interrupted = true;
    };
    const Report report = perform(g, {g.everything(), g.everything()}, options);
    BOOST_TEST(report.interrupted);
    BOOST_TEST_REQUIRE(report.scenarios.size() == 2U);
    BOOST_TEST((report.scenarios[0].outcome == Outcome::interrupted));
    BOOST_TEST((report.scenarios[1].outcome == Outcome::not_run));
    for (const ScenarioReport& s : report.scenarios) {
      BOOST_TEST(s.ops == 0U);
      BOOST_TEST(s.planned == 4U);
    }
  }
}

// The kernel of `stuck` ends when the test says so.
//
//   first ── stuck on dev1 ── last
BOOST_AUTO_TEST_CASE(an_interrupted_run_ends_while_a_kernel_is_under_way_and_reports_the_others) {
  SmallGraph g = StuckKernel::graph();
  const OpId first = g.work("first", 1, {}, on(dev1));
  const OpId stuck =
      g.op("stuck", "stuck", {first}, on(dev1), {{"flops", 1.0}}, testing::of_bytes(8));
  g.work("last", 1, {stuck}, on(dev1));
  const Machine machine = pair();
  const std::vector<Scenario> scenarios{g.everything(), g.everything()};
  RunOptions options{.interrupted = &StuckKernel::is_stuck, .grace = Duration{0}};
  Run run(machine, g.graph, scenarios, options);
  const StuckKernel kernel(1);
  const Report report = run.perform();
  BOOST_TEST(StuckKernel::is_stuck);
  BOOST_TEST(report.interrupted);
  BOOST_REQUIRE(report.scenarios.size() == 2U);
  BOOST_TEST((report.scenarios[0].outcome == Outcome::interrupted));
  BOOST_TEST(report.scenarios[0].ops == 1U);
  BOOST_TEST(report.scenarios[0].planned == 3U);
  BOOST_TEST(report.scenarios[0].timeline.spans.size() == 1U);
  BOOST_TEST((report.scenarios[1].outcome == Outcome::not_run));
  BOOST_TEST_REQUIRE(report.notes.size() == 1U);
  BOOST_TEST(report.notes[0] ==
             "'everything': 'stuck' on dev1 was still under way 0 s after the interrupt, and was "
             "left.");
}

// The kernel ends in the run, but not in the serial execution.
BOOST_AUTO_TEST_CASE(an_interrupted_run_ends_while_a_kernel_of_verification_is_under_way) {
  SmallGraph g = StuckKernel::graph();
  g.op("stuck", "stuck", {}, on(dev1), {{"flops", 1.0}}, testing::of_bytes(8));
  const Machine machine = pair();
  const std::vector<Scenario> scenarios{g.everything()};
  RunOptions options{.interrupted = &StuckKernel::is_stuck, .grace = Duration{0}};
  Run run(machine, g.graph, scenarios, options);
  const StuckKernel kernel(2);
  const Report report = run.perform();
  BOOST_TEST(StuckKernel::is_stuck);
  BOOST_TEST(report.interrupted);
  BOOST_REQUIRE(report.scenarios.size() == 1U);
  BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
  BOOST_TEST(!report.scenarios[0].verified.has_value());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
