#include "tests/support/address_space.hpp"
#include "tests/support/cores_op.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/unit/actors/runner_fixture.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(runner)
namespace {

using testing::all_modes;
using testing::dev0;
using testing::dev1;
using testing::expect_error;
using testing::fork;
using testing::on;
using testing::ops_with;
using testing::pair;
using testing::perform;
using testing::SmallGraph;
using testing::to;

BOOST_AUTO_TEST_CASE(a_graph_is_done_in_every_mode_and_compared_where_there_are_values) {
  const SmallGraph g = fork();
  for (const Mode mode : all_modes) {
    const Report report = perform(g, {g.everything()}, {.mode = mode});
    BOOST_REQUIRE(report.scenarios.size() == 1U);
    const ScenarioReport& s = report.scenarios[0];
    BOOST_TEST((s.outcome == Outcome::done));
    BOOST_TEST(s.ops == 3U);
    BOOST_TEST(s.transfers == 1U);
    BOOST_TEST(s.planned == 4U);
    BOOST_TEST(s.timeline.spans.size() == 4U);
    BOOST_TEST((s.lower_bound <= s.makespan));
    if (mode == Mode::simulate) {
      BOOST_TEST(!s.verified.has_value());
    } else {
      BOOST_TEST((s.verified == true));
    }
    BOOST_TEST(report.mode == (mode == Mode::run ? "run" : "simulate"));
    BOOST_TEST(report.machine == "small");
  }
}

BOOST_AUTO_TEST_CASE(scenarios_follow_each_other_with_a_clock_of_their_own) {
  const SmallGraph g = fork();
  for (const Mode mode : all_modes) {
    const Report report = perform(
        g, {g.everything(), g.scenario({"y", "wait", "z"}), g.everything()}, {.mode = mode});
    BOOST_REQUIRE(report.scenarios.size() == 3U);
    for (const ScenarioReport& s : report.scenarios) BOOST_TEST((s.outcome == Outcome::done));
    BOOST_TEST(report.scenarios[1].ops == 2U);
    if (mode != Mode::run) {
      BOOST_TEST((report.scenarios[0].makespan == report.scenarios[2].makespan));
    }
  }
}

// x ── bad ── never
BOOST_AUTO_TEST_CASE(a_kernel_that_fails_ends_the_run_and_names_op_device_and_cause) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(dev0), {{"seed", 1}}, {DType::f64, {8}});
  const OpId bad = g.op("bad", "fail", {x}, on(dev1));
  g.op("never", "relu", {bad}, on(dev1));
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    const Report report = perform(g, {g.everything(), g.everything()}, {.mode = mode});
    BOOST_REQUIRE(report.scenarios.size() == 2U);
    BOOST_TEST((report.scenarios[1].outcome == Outcome::not_run));
    BOOST_TEST(report.scenarios[1].planned == 4U);
    const ScenarioReport& s = report.scenarios[0];
    BOOST_TEST((s.outcome == Outcome::failed));
    BOOST_TEST(s.error.find("'bad' on dev1: it failed on purpose") != std::string::npos, s.error);
    BOOST_TEST(s.ops == 1U);
    BOOST_TEST(s.planned == 4U);
    BOOST_TEST(!s.verified.has_value());
  }
}

// dev1 gets a notice for each of 200 tensors, and is at work for 4 s by then.
BOOST_AUTO_TEST_CASE(a_failure_ends_the_work_that_waits_in_the_mailbox_of_a_device) {
  static std::atomic<int> slept;
  slept = 0;
  OpRegistry ops = ops_with("nap", [](const CpuCall&) {
    ++slept;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  SmallGraph g;
  g.graph = Graph(ops);
  OpId last;
  for (int i = 0; i < 200; ++i) {
    last = g.work("x", 1, {}, on(dev0));
    g.op("nap", "nap", {last}, on(dev1), {{"flops", 1.0}}, testing::of_bytes(8));
  }
  g.op("bad", "fail", {last}, on(dev0));
  const Report report = perform(g, {g.everything()}, {.mode = Mode::run, .verify = false});
  BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
  BOOST_TEST(slept < 100);
}

// thrower (throws an object that is no std::exception), while neighbour runs on another stream
BOOST_AUTO_TEST_CASE(a_kernel_that_throws_anything_ends_the_run) {
  const OpRegistry ops = ops_with("thrower", [](const CpuCall&) { throw 7; });
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    SmallGraph g;
    g.graph = Graph(ops);
    g.work("neighbour", 1e6, {}, on(dev0));
    g.op("thrower", "thrower", {}, on(dev0), {{"flops", 1.0}}, testing::of_bytes(8));
    const Report report = perform(g, {g.everything()}, {.mode = mode});
    BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
    BOOST_TEST(report.scenarios[0].error.find("dev0") != std::string::npos,
               report.scenarios[0].error);
  }
}

BOOST_AUTO_TEST_CASE(a_kind_without_a_kernel_is_simulated_but_neither_rehearsed_nor_run) {
  const OpRegistry ops = ops_with("bodiless", nullptr);
  SmallGraph g;
  g.graph = Graph(ops);
  g.op("x", "bodiless", {}, on(dev0), {{"flops", 1.0}}, testing::of_bytes(8));
  BOOST_TEST((perform(g, {g.everything()}, {.mode = Mode::simulate}).scenarios[0].outcome ==
              Outcome::done));
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    expect_error(ErrorKind::usage, "no kernel for 'bodiless'",
                 [&] { perform(g, {g.everything()}, {.mode = mode}); });
  }
}

// A simulation needs no library.
BOOST_AUTO_TEST_CASE(a_library_that_a_later_scenario_needs_is_missed_before_any_is_performed) {
  OpRegistry ops = testing::test_ops();
  OpKind kind = ops[ops.find("work")];
  kind.name = "lost";
  kind.load = [] { throw run_error("its library can't be loaded"); };
  ops.add(std::move(kind));
  SmallGraph g;
  g.graph = Graph(ops);
  g.work("x", 1, {}, on(dev0));
  g.op("y", "lost", {}, on(dev0), {{"flops", 1.0}}, testing::of_bytes(8));
  const std::vector<Scenario> both{g.scenario({"x"}), g.scenario({"y"})};
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    expect_error(ErrorKind::usage, "its library can't be loaded",
                 [&] { perform(g, both, {.mode = mode}); });
  }
  BOOST_TEST((perform(g, both, {.mode = Mode::simulate}).scenarios[1].outcome == Outcome::done));
}

BOOST_AUTO_TEST_CASE(a_machine_that_can_not_be_is_refused) {
  const SmallGraph g = fork();
  Machine machine = pair();
  machine.links[0].bandwidth[0] = 0;
  const std::vector<Scenario> scenarios{g.everything()};
  for (const Mode mode : all_modes) {
    expect_error(ErrorKind::usage, "the bandwidth of '" + machine.links[0].name + "' is 0 a second",
                 [&] { Run(machine, g.graph, scenarios, {.mode = mode}); });
  }
}

BOOST_AUTO_TEST_CASE(a_bad_scenario_is_refused_before_any_is_performed) {
  const SmallGraph g = fork();
  const Machine machine = pair();
  const std::vector<Scenario> scenarios{g.everything(), g.scenario({"y", "wait", "x"})};
  expect_error(ErrorKind::usage, "starts 'y' before what it needs",
               [&] { Run(machine, g.graph, scenarios, {.mode = Mode::simulate}); });
}

// x and y of 32 KiB each are held at the same time, in two memories of one host.
BOOST_AUTO_TEST_CASE(a_host_with_less_memory_than_a_later_scenario_needs_is_refused_at_once) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(dev0), {{"seed", 1}}, {DType::f64, {64, 64}});
  g.copy("y", x, to(MemoryId{1}));
  const Machine machine = pair();
  const std::vector<Scenario> scenarios{g.scenario({"x"}), g.scenario({"x", "y"})};
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    expect_error(ErrorKind::usage, "needs 64 KiB of this host's memory at once, and 63 KiB are",
                 [&] { Run(machine, g.graph, scenarios, {.mode = mode, .ram_bytes = 63 << 10}); });
    BOOST_TEST((Run(machine, g.graph, scenarios, {.mode = mode, .ram_bytes = 64 << 10})
                    .perform()
                    .scenarios[1]
                    .verified == true));
  }
  Run(machine, g.graph, scenarios, {.mode = Mode::simulate, .ram_bytes = 0});
}

// The stacks of dev1's threads don't fit the address space; dev0's threads have been started
// before.
BOOST_AUTO_TEST_CASE(a_device_that_can_not_be_set_up_is_named_before_anything_runs,
                     *boost::unit_test::precondition(testing::can_limit_addresses)) {
  const SmallGraph g = fork();
  Machine machine = pair();
  machine.devices[1].cores.assign(1000, 0);
  const std::vector<Scenario> scenarios{g.everything()};
  Run run(machine, g.graph, scenarios, {.mode = Mode::run});
  {
    const testing::AddressSpaceLimit limit(512 << 20);
    expect_error(ErrorKind::usage, "could not set dev1 up: ", [&] { run.perform(); });
  }
  BOOST_TEST((perform(g, {g.everything()}, {.mode = Mode::run}).scenarios[0].verified == true));
}

//   first (dev0) → link → second (dev1, which has two streams)
BOOST_AUTO_TEST_CASE(kernels_of_a_run_use_the_cores_of_their_device_and_stream,
                     *boost::unit_test::precondition(testing::has_two_cores)) {
  static const OpRegistry ops = [] {
    OpRegistry registry = testing::test_ops();
    registry.add(testing::cores_op());
    return registry;
  }();
  const std::vector<int> usable = testing::cores_of_this_thread();
  Machine machine = pair();
  machine.devices[0].streams = 1;
  machine.devices[1].streams = 2;
  for (const std::size_t own : {0, 1}) {
    machine.devices[0].cores = {usable[own]};
    machine.devices[1].cores = {usable[1 - own], usable[1 - own]};
    SmallGraph g;
    g.graph = Graph(ops);
    const OpId first = g.op("first", "cores", {}, on(dev0), {}, {DType::f64, {1}});
    g.op("second", "cores", {first}, on(dev1), {}, {DType::f64, {1}});
    const std::vector<Scenario> scenarios{g.everything()};
    const Report report =
        Run(machine, g.graph, scenarios, {.mode = Mode::run, .verify = false}).perform();
    BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
    BOOST_TEST((testing::SeenCores::take() ==
                std::vector<testing::ThreadCores>{{{usable[own]}}, {{usable[1 - own]}}}));
  }
}

// A scenario with nothing but a wait: all devices and links are idle.
BOOST_AUTO_TEST_CASE(an_empty_scenario_is_done) {
  const SmallGraph g = fork();
  for (const Mode mode : all_modes) {
    const Report report = perform(g, {g.scenario({"wait"})}, {.mode = mode});
    BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
    BOOST_TEST(report.scenarios[0].planned == 0U);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
