#include "actors/runner.hpp"

#include "tests/support/address_space.hpp"
#include "tests/support/cores_op.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using testing::expect_error;
using testing::on;
using testing::SmallGraph;
using testing::to;

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};

// dev0 (two streams) and dev1 with a memory each and a link.
Machine pair() {
  return testing::two_devices({.streams = 2});
}

Report perform(const SmallGraph& g, const std::vector<Scenario>& scenarios, RunOptions options,
               const Machine& machine = pair()) {
  return Run(machine, g.graph, scenarios, std::move(options)).perform();
}

// The same with memory for only three tensors of 32 KiB, and, in a real run, storage.
Machine tight_pair(Mode mode) {
  Machine machine = pair();
  for (Memory& memory : machine.memories) memory.size_bytes = 96 << 10;
  if (mode != Mode::run) return machine;
  const MemoryId disk = MemoryId::at(machine.memories.size());
  machine.memories.push_back({.name = "disk", .kind = MemoryKind::storage, .size_bytes = 96 << 10});
  machine.links.push_back(machine.links[0]);
  machine.links.back().name = "ssd";
  machine.links.back().a = MemoryId{1};
  machine.links.back().b = disk;
  return machine;
}

// x ─┬─ y on dev1
//    └─ z on dev0
SmallGraph fork() {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(dev0), {std::int64_t{1}}, {DType::f64, {64, 64}});
  g.op("y", "matmul", {x, x}, on(dev1));
  g.op("z", "relu", {x}, on(dev0));
  return g;
}

constexpr Mode all_modes[] = {Mode::simulate, Mode::rehearse, Mode::run};

// An op whose result depends on how often its kernel was called.
const OpRegistry& with_counter() {
  static const OpRegistry registry = [] {
    OpRegistry ops = testing::test_ops();
    OpKind counter = ops[ops.find("work")];
    counter.name = "counter";
    counter.cpu = [](const CpuCall& call) {
      static std::atomic<int> calls = 0;
      std::memset(call.output.data, 0, call.output.type.bytes());
      *call.output.as<double>() = ++calls;
    };
    ops.add(std::move(counter));
    OpKind thrower = ops[ops.find("work")];
    thrower.name = "thrower";
    thrower.cpu = [](const CpuCall&) { throw 7; };
    ops.add(std::move(thrower));
    OpKind bodiless = ops[ops.find("work")];
    bodiless.name = "bodiless";
    bodiless.cpu = nullptr;
    ops.add(std::move(bodiless));
    return ops;
  }();
  return registry;
}

BOOST_AUTO_TEST_SUITE(runner)

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

BOOST_AUTO_TEST_CASE(without_verification_nothing_is_compared) {
  const SmallGraph g = fork();
  const Report report = perform(g, {g.everything()}, {.mode = Mode::run, .verify = false});
  BOOST_TEST(!report.scenarios[0].verified.has_value());
}

// Shows that the comparison can fail.
BOOST_AUTO_TEST_CASE(a_kernel_that_gives_another_result_each_time_is_found_out) {
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    SmallGraph g;
    g.graph = Graph(with_counter());
    const OpId x = g.work("x", 1, {}, on(dev0));
    g.op("wrong", "counter", {x}, on(dev1), {1.0}, testing::of_bytes(8));
    const Report report = perform(g, {g.everything()}, {.mode = mode});
    BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
    BOOST_TEST((report.scenarios[0].verified == false));
    BOOST_TEST(report.scenarios[0].mismatch.find("'wrong' differs") != std::string::npos);
  }
}

// x ── step ── … ── step, every third over the link and every third through the file
BOOST_AUTO_TEST_CASE(every_result_is_compared_where_memory_is_too_small_to_keep_them) {
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    SmallGraph g;
    OpId last = g.op("x", "uniform", {}, on(dev1), {std::int64_t{1}}, {DType::f64, {64, 64}});
    for (int i = 0; i < 8; ++i) {
      last = g.op("relu", "relu", {last}, on(dev0));
      last = g.op("scale", "scale", {last}, on(dev1), {1.5});
      if (mode == Mode::run) last = g.copy("write", last, to(MemoryId{2}));
    }
    const Report report = perform(g, {g.everything()}, {.mode = mode}, tight_pair(mode));
    const ScenarioReport& s = report.scenarios[0];
    BOOST_TEST((s.outcome == Outcome::done), s.error);
    BOOST_TEST((s.verified == true), s.mismatch);
    BOOST_REQUIRE(report.notes.size() == 1U);
    BOOST_TEST(report.notes[0].find(mode == Mode::run ? "24 of 25 results" : "16 of 17 results") !=
                   std::string::npos,
               report.notes[0]);
    BOOST_TEST(perform(g, {g.everything()}, {.mode = mode, .verify = false}, tight_pair(mode))
                   .notes.empty());
  }
}

// x ── wrong ── step ── … ── hidden (× 0): the result kept at the end is right
BOOST_AUTO_TEST_CASE(a_wrong_result_that_no_kept_result_shows_is_named) {
  for (const bool damaged : {false, true}) {
    for (const Mode mode : {Mode::rehearse, Mode::run}) {
      SmallGraph g;
      g.graph = Graph(with_counter());
      OpId last = g.op("x", "work", {}, on(dev0), {1.0}, testing::of_bytes(32 << 10));
      last = g.op("wrong", damaged ? "counter" : "work", {last}, on(dev1), {1.0},
                  testing::of_bytes(32 << 10));
      for (int i = 0; i < 8; ++i) last = g.op("step", "relu", {last}, on(dev1));
      g.op("hidden", "scale", {last}, on(dev1), {0.0});
      const Report report = perform(g, {g.everything()}, {.mode = mode}, tight_pair(mode));
      const ScenarioReport& s = report.scenarios[0];
      BOOST_TEST((s.outcome == Outcome::done), s.error);
      BOOST_TEST((s.verified == !damaged));
      BOOST_TEST(s.mismatch ==
                 (damaged ? "'wrong' differs from the serial execution, by its digest" : ""));
    }
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
  const OpId x = g.op("x", "uniform", {}, on(dev0), {std::int64_t{1}}, {DType::f64, {8}});
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

// thrower (throws an object that is no std::exception), while neighbour runs on another stream
BOOST_AUTO_TEST_CASE(a_kernel_that_throws_anything_ends_the_run) {
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    SmallGraph g;
    g.graph = Graph(with_counter());
    g.work("neighbour", 1e6, {}, on(dev0));
    g.op("thrower", "thrower", {}, on(dev0), {1.0}, testing::of_bytes(8));
    const Report report = perform(g, {g.everything()}, {.mode = mode});
    BOOST_TEST((report.scenarios[0].outcome == Outcome::failed));
    BOOST_TEST(report.scenarios[0].error.find("dev0") != std::string::npos,
               report.scenarios[0].error);
  }
}

BOOST_AUTO_TEST_CASE(a_kind_without_a_kernel_is_simulated_but_neither_rehearsed_nor_run) {
  SmallGraph g;
  g.graph = Graph(with_counter());
  g.op("x", "bodiless", {}, on(dev0), {1.0}, testing::of_bytes(8));
  BOOST_TEST((perform(g, {g.everything()}, {.mode = Mode::simulate}).scenarios[0].outcome ==
              Outcome::done));
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    expect_error(ErrorKind::usage, "no kernel for 'bodiless'",
                 [&] { perform(g, {g.everything()}, {.mode = mode}); });
  }
}

BOOST_AUTO_TEST_CASE(a_bad_scenario_is_refused_before_any_is_performed) {
  const SmallGraph g = fork();
  const Machine machine = pair();
  const std::vector<Scenario> scenarios{g.everything(), g.scenario({"y", "wait", "x"})};
  expect_error(ErrorKind::usage, "starts 'y' before what it needs",
               [&] { Run(machine, g.graph, scenarios, {.mode = Mode::simulate}); });
}

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
    if (p.stage == RunProgress::Stage::running) interrupted = true;
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
      if (p.stage == RunProgress::Stage::running && p.done == p.total) interrupted = true;
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
  OpRegistry ops = testing::test_ops();
  OpKind waiter = ops[ops.find("work")];
  waiter.name = "waiter";
  waiter.cpu = [](const CpuCall& call) {
    std::memset(call.output.data, 0, call.output.type.bytes());
    ++calls;
    while (words < 3) std::this_thread::yield();
  };
  ops.add(std::move(waiter));
  for (const bool verify : {false, true}) {
    calls = words = 0;
    SmallGraph g;
    g.graph = Graph(ops);
    g.op("last", "waiter", {}, on(dev0), {1.0}, testing::of_bytes(8));
    std::atomic<bool> interrupted = false;
    RunOptions options{.mode = Mode::run, .verify = verify, .interrupted = &interrupted};
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
    if (p.stage == RunProgress::Stage::verifying) interrupted = true;
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
  std::uint64_t most = 0;
  std::vector<RunProgress::Stage> stages;
  RunOptions options{.mode = Mode::rehearse};
  options.on_progress = [&](const RunProgress& p) {
    BOOST_TEST(p.scenario == "everything");
    BOOST_TEST(p.done <= p.total);
    if (p.stage == RunProgress::Stage::running) most = std::max(most, p.done);
    if (stages.empty() || stages.back() != p.stage) stages.push_back(p.stage);
  };
  perform(g, {g.everything()}, options);
  BOOST_TEST(most == 4U);
  BOOST_TEST((stages == std::vector{RunProgress::Stage::reserving, RunProgress::Stage::running,
                                    RunProgress::Stage::verifying}));
}

BOOST_AUTO_TEST_CASE(an_interrupt_while_buffers_are_reserved_performs_nothing) {
  SmallGraph g;
  for (int i = 0; i < 4; ++i) {
    g.op("x", "uniform", {}, on(dev0), {std::int64_t{1}}, {DType::f64, {1024, 1024}});
  }
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    std::atomic<bool> interrupted = false;
    RunOptions options{.mode = mode, .interrupted = &interrupted};
    options.on_progress = [&](const RunProgress& p) {
      BOOST_TEST((p.stage == RunProgress::Stage::reserving));
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

// x and y of 32 KiB each are held at the same time, in two memories of one host.
BOOST_AUTO_TEST_CASE(a_host_with_less_memory_than_a_later_scenario_needs_is_refused_at_once) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(dev0), {std::int64_t{1}}, {DType::f64, {64, 64}});
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
