// Ops that make several tensors: kind "half" of test_ops().
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/unit/actors/runner_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(several_outputs)
namespace {

using testing::all_modes;
using testing::dev0;
using testing::dev1;
using testing::expect_error;
using testing::on;
using testing::pair;
using testing::perform;
using testing::SmallGraph;

using Values = std::vector<double>;

OpId sum_of(OpId half) {
  return OpId{half.value + 1};
}
OpId twice_of(OpId half) {
  return OpId{half.value + 2};
}

// x ── half ─┬──────── a on dev0
//            ├ sum ─── b on dev1
//            └ twice ─ c on dev1
SmallGraph readers_of_all(Placement place_of_half = on(dev0)) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(dev0), {}, {DType::f64, {1000}});
  const OpId half = g.op("half", "half", {x}, place_of_half);
  g.op("a", "relu", {half}, on(dev0));
  g.op("b", "relu", {sum_of(half)}, on(dev1));
  g.op("c", "relu", {twice_of(half)}, on(dev1));
  return g;
}

std::size_t spans_of(const Report& report) {
  return report.scenarios[0].timeline.spans.size();
}

BOOST_AUTO_TEST_CASE(every_output_can_be_read_on_any_device_in_every_mode) {
  for (const Mode mode : all_modes) {
    for (const Placement where : {on(dev0), on(dev1), Placement{}}) {
      const SmallGraph g = readers_of_all(where);
      const Report report = perform(g, {g.everything()}, {.mode = mode});
      const ScenarioReport& scenario = report.scenarios[0];
      BOOST_TEST((scenario.outcome == Outcome::done));
      BOOST_TEST((scenario.verified == true) == (mode != Mode::simulate));
      BOOST_TEST(scenario.ops == 5U);
      BOOST_TEST(scenario.finished == scenario.planned);
      BOOST_TEST(spans_of(report) == scenario.finished);
    }
  }
}

BOOST_AUTO_TEST_CASE(outputs_that_nothing_reads_are_made_and_compared_too) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(dev0), {}, {DType::f32, {10}});
  g.op("half", "half", {x}, on(dev0));
  const Report report = perform(g, {g.everything()}, {.mode = Mode::run});
  BOOST_TEST((report.scenarios[0].verified == true));
  BOOST_TEST(report.scenarios[0].ops == 2U);
  BOOST_TEST((report.scenarios[0].lower_bound <= report.scenarios[0].serial));
}

BOOST_AUTO_TEST_CASE(an_op_whose_further_output_is_needed_is_prepared_as_a_whole) {
  for (const Placement where : {on(dev0), Placement{}}) {
    const SmallGraph g = readers_of_all(where);
    const Report report = perform(g, {g.scenario({"c"})}, {.mode = Mode::run});
    BOOST_TEST((report.scenarios[0].verified == true));
  }
}

// `deep`, which is ready when half ends, has the longer path to the end than the sum.
//
//   dev0  x | half | deep
//   dev1           | b
BOOST_AUTO_TEST_CASE(a_further_output_is_there_when_its_op_ends_and_takes_no_time) {
  SmallGraph g;
  const OpId x = g.work("x", 10, {}, on(dev0));
  const OpId half = g.op("half", "half", {x}, on(dev0));
  g.work("deep", 5000, {half}, on(dev0));
  g.work("b", 7, {sum_of(half)}, on(dev1));
  const Machine machine = testing::two_devices_on_one_memory();
  const Report report = perform(g, {g.everything()}, {.mode = Mode::simulate}, machine);
  const Timeline& timeline = report.scenarios[0].timeline;
  const auto span = [&](std::string_view label) {
    return *std::ranges::find_if(timeline.spans,
                                 [&](const Span& s) { return timeline.labels[s.label] == label; });
  };
  BOOST_TEST((span("b").start == span("half").end));
}

BOOST_AUTO_TEST_CASE(in_a_timeline_readers_of_a_further_output_come_after_its_op) {
  const SmallGraph g = readers_of_all();
  const Report report =
      perform(g, {g.everything()}, {.mode = Mode::simulate}, testing::two_devices_on_one_memory());
  const Timeline& timeline = report.scenarios[0].timeline;
  // x, half, a, b, c: spans are in the order of ops.
  BOOST_REQUIRE(timeline.spans.size() == 5U);
  for (const std::size_t reader : {2, 3, 4}) {
    const std::uint32_t first = timeline.first_predecessor[reader];
    BOOST_REQUIRE(timeline.first_predecessor[reader + 1] == first + 1);
    BOOST_TEST(timeline.predecessors[first] == 1U);
  }
}

BOOST_AUTO_TEST_CASE(ops_that_read_several_outputs_of_one_op_run_on_small_memories) {
  SmallGraph g;
  OpId x = g.op("x", "uniform", {}, on(dev0), {}, {DType::f64, {4096}});  // 32 KiB
  for (int i = 0; i < 20; ++i) {
    const OpId half = g.op("half", "half", {x}, on(dev0));
    x = g.op("x", "add", {half, twice_of(half)}, on(dev0));
  }
  // x, half and twice, and the sum of 8 bytes.
  const Machine machine = testing::two_devices({.size_bytes = (3 * 32 + 4) * 1024});
  const Report report = perform(g, {g.everything()}, {.mode = Mode::run}, machine);
  BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
  BOOST_TEST((report.scenarios[0].verified == true));
  expect_error(ErrorKind::usage, "'half' on dev0 needs 65.54 kB in a, and 32 KiB", [&] {
    perform(g, {g.everything()}, {.mode = Mode::run},
            testing::two_devices({.size_bytes = 2 * 32 * 1024}));
  });
}

const std::vector<double> given = {1, 2, 5};

BOOST_AUTO_TEST_CASE(a_session_returns_all_outputs_or_the_first) {
  for (const Mode mode : {Mode::run, Mode::rehearse}) {
    Session session(pair(), {.mode = mode, .ops = testing::test_ops()});
    const Tensor x = session.tensor(given, {3});
    const std::vector<Tensor> made = session.call_all("half", {x});
    const Tensor first = session.call("half", {x});
    BOOST_REQUIRE(made.size() == 3U);
    BOOST_TEST(to_string(made[1].type()) == "float64 [1]");
    BOOST_TEST((made[0].read<double>() == Values{0.5, 1, 2.5}));
    BOOST_TEST((made[1].read<double>() == Values{8}));
    BOOST_TEST((made[2].read<double>() == Values{2, 4, 10}));
    BOOST_TEST((first.read<double>() == Values{0.5, 1, 2.5}));
  }
}

// Over several epochs of the session, with outputs that live on and outputs that are dropped.
BOOST_AUTO_TEST_CASE(outputs_are_freed_one_by_one_and_outlive_those_that_are_dropped) {
  // Too little for a hundredth of the tensors.
  const Machine machine = testing::two_devices({.size_bytes = 32 << 10});
  Session session(machine, {.mode = Mode::run, .ops = testing::test_ops()});
  Tensor x = session.tensor(given, {3});
  const Tensor early = session.call_all("half", {x})[1];
  for (int i = 0; i < 60'000; ++i) {
    std::vector<Tensor> made = session.call_all("half", {x});
    x = i % 2 == 0 ? std::move(made[0]) : std::move(made[2]);
  }
  BOOST_TEST((x.read<double>() == given));
  BOOST_TEST((early.read<double>() == Values{8}));
}

BOOST_AUTO_TEST_CASE(outputs_are_freed_where_ops_are_issued_ahead) {
  Machine machine = testing::two_devices({.size_bytes = 32 << 10});
  for (Device& device : machine.devices) device.issue_depth = 8;
  Session session(machine, {.mode = Mode::rehearse, .ops = testing::test_ops()});
  Tensor x = session.tensor(given, {3});
  for (int i = 0; i < 2000; ++i) x = session.call_all("half", {x})[i % 2 == 0 ? 0 : 2];
  BOOST_TEST((x.read<double>() == given));
}

std::atomic<bool> has_slept = false;

BOOST_AUTO_TEST_CASE(waiting_for_a_device_waits_for_calls_behind_those_of_several_outputs) {
  has_slept = false;
  const OpRegistry ops = testing::ops_with("slow", [](const CpuCall&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    has_slept = true;
  });
  Session session(pair(), {.mode = Mode::run, .ops = ops});
  const DeviceScope where = session.on("dev1");
  const Tensor x = session.tensor(given, {3});
  const std::vector<Tensor> made = session.call_all("half", {x});
  const Tensor slow = session.call("slow", {made[2]}, {}, {DType::f64, {1}});
  session.wait("dev1");
  BOOST_TEST(has_slept);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
