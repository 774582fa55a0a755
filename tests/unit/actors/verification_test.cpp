#include "core/result/checkpoint.hpp"
#include "tests/unit/actors/runner_fixture.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(verification)
namespace {

using testing::dev0;
using testing::dev1;
using testing::fork;
using testing::on;
using testing::ops_with;
using testing::pair;
using testing::perform;
using testing::SmallGraph;
using testing::to;

// pair() with memory for only three tensors of 32 KiB, and, in a real run, storage.
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

// An op kind whose result depends on how often its kernel was called.
const OpRegistry& with_counter() {
  static const OpRegistry ops = ops_with("counter", [](const CpuCall& call) {
    static std::atomic<int> calls = 0;
    std::memset(call.output.data, 0, call.output.type.bytes());
    *call.output.as<double>() = ++calls;
  });
  return ops;
}

// An op kind that keeps for how many threads it was to be cut, by every team that has computed it.
std::set<std::int64_t> widths;  // guarded
const OpRegistry& with_width() {
  static const OpRegistry ops = ops_with("width", [](const CpuCall& call) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    widths.insert(call.team.widest_team());
    std::memset(call.output.data, 0, call.output.type.bytes());
  });
  return ops;
}

// Of devices of one core and of three, with a serial execution.
std::set<std::int64_t> widths_of(Mode mode, const Checkpoint* resumed = nullptr) {
  SmallGraph g;
  g.graph = Graph(with_width());
  for (const DeviceId device : {dev0, dev1}) {
    g.op("on " + std::to_string(device.value), "width", {}, on(device), {{"flops", 1.0}},
         testing::of_bytes(8));
  }
  Machine machine = pair();
  for (Device& device : machine.devices) device.streams = 1;
  machine.devices[0].cores = {0};
  machine.devices[1].cores = {0, 0, 0};
  widths.clear();
  const Report report = perform(g, {g.everything()}, {.mode = mode, .resumed = resumed}, machine);
  BOOST_TEST((report.scenarios[0].verified == true));
  return widths;
}

BOOST_AUTO_TEST_CASE(all_devices_and_the_serial_execution_cut_for_the_widest_team) {
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    BOOST_TEST((widths_of(mode) == std::set<std::int64_t>{3}));
  }
}

BOOST_AUTO_TEST_CASE(a_resumed_run_cuts_as_the_run_that_it_goes_on_with) {
  const Checkpoint checkpoint{.position = {}, .tensors = {}, .widest_team = 7};
  BOOST_TEST((widths_of(Mode::run, &checkpoint) == std::set<std::int64_t>{7}));
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
    g.op("wrong", "counter", {x}, on(dev1), {{"flops", 1.0}}, testing::of_bytes(8));
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
    OpId last = g.op("x", "uniform", {}, on(dev1), {{"seed", 1}}, {DType::f64, {64, 64}});
    for (int i = 0; i < 8; ++i) {
      last = g.op("relu", "relu", {last}, on(dev0));
      last = g.op("scale", "scale", {last}, on(dev1), {{"alpha", 1.5}});
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
      OpId last = g.op("x", "work", {}, on(dev0), {{"flops", 1.0}}, testing::of_bytes(32 << 10));
      last = g.op("wrong", damaged ? "counter" : "work", {last}, on(dev1), {{"flops", 1.0}},
                  testing::of_bytes(32 << 10));
      for (int i = 0; i < 8; ++i) last = g.op("step", "relu", {last}, on(dev1));
      g.op("hidden", "scale", {last}, on(dev1), {{"alpha", 0.0}});
      const Report report = perform(g, {g.everything()}, {.mode = mode}, tight_pair(mode));
      const ScenarioReport& s = report.scenarios[0];
      BOOST_TEST((s.outcome == Outcome::done), s.error);
      BOOST_TEST((s.verified == !damaged));
      BOOST_TEST(s.mismatch ==
                 (damaged ? "'wrong' differs from the serial execution, by its digest" : ""));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
