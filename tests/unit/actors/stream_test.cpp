#include "actors/stream.hpp"

#include "core/base/random.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "core/patterns/patterns.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(stream)
namespace {

using testing::expect_error;
using testing::on;
using testing::SmallGraph;
using testing::SmallMachine;

constexpr DeviceId dev0{0};
constexpr DeviceId dev1{1};
constexpr Mode all_modes[] = {Mode::simulate, Mode::rehearse, Mode::run};

// dev0 (two streams) and dev1 with a memory each and a link.
Machine pair(std::uint64_t size_bytes = 1 << 30) {
  return testing::two_devices({.streams = 2, .size_bytes = size_bytes});
}

OpId all_so_far(const SmallGraph& g) {
  return OpId::at(g.graph.size());
}

// Every point checks its inputs.
BOOST_AUTO_TEST_CASE(a_pattern_in_windows_of_any_size_carries_the_right_payloads) {
  const auto seed = static_cast<std::uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch().count() & 0xFFFF);
  BOOST_TEST_CONTEXT("seed " << seed) {
    Random random(seed);
    const Machine machine = pair();
    const std::vector<DeviceId> devices{dev0, dev1};
    for (const Mode mode : all_modes) {
      for (std::size_t d = 0; d < dependences().size(); ++d) {
        BOOST_TEST_CONTEXT(dependences()[d].name << " in mode " << static_cast<int>(mode)) {
          PointTask task;
          task.pattern = {.dependence = static_cast<Dependence>(d),
                          .width = 8,
                          .steps = 60,
                          .radix = 3,
                          .period = 3,
                          .fraction = 0.5,
                          .seed = seed};
          Graph graph{pattern_ops()};
          Stream stream(machine, graph, {.mode = mode, .windows_in_flight = 1 + random.below(4)});
          PatternRows rows(graph, task.pattern, point_ops(graph, task, devices), "grid");
          while (!rows.is_complete()) {
            rows.append(1 + static_cast<std::uint32_t>(random.below(12)));
            BOOST_TEST(stream.submit(rows.last_row()));
          }
          const ScenarioReport report = stream.finish("grid");
          BOOST_TEST(report.error == "");
          BOOST_TEST((report.outcome == Outcome::done));
          BOOST_TEST(report.ops == task.pattern.points());
          BOOST_TEST(report.finished == report.planned);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_window_begins_while_the_one_before_it_runs) {
  const Machine machine = pair();
  SmallGraph g;
  Stream stream(machine, g.graph, {.mode = Mode::simulate});
  g.work("long", 1000, {}, on(dev0));
  BOOST_TEST(stream.submit(all_so_far(g)));
  g.work("other", 600, {}, on(dev1));
  BOOST_TEST(stream.submit(all_so_far(g)));
  const ScenarioReport report = stream.finish("two");
  BOOST_TEST(report.makespan.count() == 1000);
  BOOST_TEST(report.serial.count() == 1600);
}

BOOST_AUTO_TEST_CASE(a_window_that_keeps_ops_from_one_that_is_not_there_is_refused) {
  const Machine machine = pair();
  SmallGraph g;
  Stream stream(machine, g.graph, {.mode = Mode::simulate});
  g.work("one", 1000, {}, on(dev0));
  for (const OpId beyond : {OpId{2}, OpId{}}) {
    expect_error(ErrorKind::usage, "the op to keep from isn't in the graph",
                 [&] { stream.submit(beyond); });
  }
  BOOST_TEST(stream.submit(all_so_far(g)));
  BOOST_TEST(stream.finish("one").makespan.count() == 1000);
}

BOOST_AUTO_TEST_CASE(an_op_waits_for_its_inputs_in_earlier_windows) {
  for (const DeviceId reader : {dev0, dev1}) {
    const Machine machine = pair();
    SmallGraph g;
    Stream stream(machine, g.graph, {.mode = Mode::simulate});
    const OpId made = g.work("made", 1000, {}, on(dev0));
    BOOST_TEST(stream.submit(made));
    g.work("between", 10, {}, on(dev1));
    BOOST_TEST(stream.submit(made));
    g.work("reader", 500, {made, made}, on(reader));
    BOOST_TEST(stream.submit(all_so_far(g)));
    // 8 bytes over the link take 8 ns.
    const ScenarioReport report = stream.finish("chain");
    BOOST_TEST(report.makespan.count() == (reader == dev0 ? 1500 : 1508));
    BOOST_TEST(report.lower_bound.count() == report.makespan.count());
    BOOST_TEST(report.transfers == (reader == dev0 ? 0U : 1U));
  }
}

BOOST_AUTO_TEST_CASE(a_copy_made_for_one_window_serves_later_ones) {
  const Machine machine = pair();
  SmallGraph g;
  Stream stream(machine, g.graph, {.mode = Mode::simulate});
  const OpId x = g.work("x", 100, {}, on(dev0));
  for (int i = 0; i < 6; ++i) {
    g.work("y" + std::to_string(i), 10, {x}, on(dev1));
    BOOST_TEST(stream.submit(x));
  }
  const ScenarioReport report = stream.finish("copies");
  BOOST_TEST(report.transfers == 1U);
  BOOST_TEST(report.ops == 7U);
}

BOOST_AUTO_TEST_CASE(ops_without_a_device_are_placed_window_by_window) {
  const Machine machine = pair();
  for (const Mode mode : all_modes) {
    SmallGraph g;
    Stream stream(machine, g.graph, {.mode = mode});
    OpId before = g.work("first", 100);
    BOOST_TEST(stream.submit(before));
    for (int i = 0; i < 10; ++i) {
      before = g.work("next" + std::to_string(i), 100, {before});
      g.work("aside" + std::to_string(i), 100);
      BOOST_TEST(stream.submit(before));
    }
    const ScenarioReport report = stream.finish("placed");
    BOOST_TEST((report.outcome == Outcome::done));
    BOOST_TEST(report.ops == 21U);
  }
}

BOOST_AUTO_TEST_CASE(a_whole_graph_as_one_window_takes_as_long_as_in_a_run) {
  const Machine machine = pair();
  SmallGraph g;
  Stream stream(machine, g.graph, {.mode = Mode::simulate, .keep_timeline = true});
  const OpId x = g.work("x", 100, {}, on(dev0), 64);
  const OpId y = g.work("y", 300, {x}, on(dev1), 64);
  const OpId z = g.work("z", 200, {x}, on(dev0), 64);
  g.work("end", 50, {y, z}, on(dev0), 64);
  BOOST_TEST(stream.submit(all_so_far(g)));
  const ScenarioReport report = stream.finish("whole");
  BOOST_TEST(report.makespan.count() == 100 + 64 + 300 + 64 + 50);
  BOOST_TEST(report.lower_bound.count() == report.makespan.count());
  BOOST_TEST(report.timeline.spans.size() == 6U);
  BOOST_TEST(report.timeline.first_predecessor.size() == 7U);
  BOOST_TEST(report.timeline.name(report.timeline.spans[0]) == "x");
}

BOOST_AUTO_TEST_CASE(a_submit_without_new_ops_adds_no_window) {
  const Machine machine = pair();
  SmallGraph g;
  Stream stream(machine, g.graph, {.mode = Mode::simulate});
  BOOST_TEST(stream.submit(OpId::at(0)));
  g.work("x", 100, {}, on(dev0));
  BOOST_TEST(stream.submit(all_so_far(g)));
  BOOST_TEST(stream.submit(all_so_far(g)));
  const ScenarioReport report = stream.finish("one");
  BOOST_TEST(report.ops == 1U);
  BOOST_TEST(report.makespan.count() == 100);
}

BOOST_AUTO_TEST_CASE(a_stream_without_windows_or_on_a_machine_that_can_not_be_is_refused) {
  SmallGraph g;
  Machine machine = pair();
  expect_error(ErrorKind::usage, "set windows_in_flight to 1 or more",
               [&] { Stream(machine, g.graph, {.windows_in_flight = 0}); });
  machine.devices[0].streams = 0;
  expect_error(ErrorKind::usage, "the device 'dev0' has 0 streams",
               [&] { Stream(machine, g.graph, {.mode = Mode::simulate}); });
}

BOOST_AUTO_TEST_CASE(an_empty_stream_is_done) {
  const Machine machine = pair();
  for (const Mode mode : all_modes) {
    Graph graph{pattern_ops()};
    Stream stream(machine, graph, {.mode = mode});
    const ScenarioReport report = stream.finish("nothing");
    BOOST_TEST((report.outcome == Outcome::done));
    BOOST_TEST(report.ops == 0U);
  }
}

BOOST_AUTO_TEST_CASE(windows_wait_until_a_memory_has_room_for_their_tensors) {
  // Room for the tensors of two windows at a time.
  const Machine machine = pair(16 << 10);
  for (const Mode mode : all_modes) {
    SmallGraph g;
    Stream stream(machine, g.graph, {.mode = mode, .windows_in_flight = 8});
    for (int i = 0; i < 40; ++i) {
      g.work("x" + std::to_string(i), 100, {}, on(dev0), 8 << 10);
      BOOST_TEST(stream.submit(all_so_far(g)));
    }
    const ScenarioReport report = stream.finish("tight");
    BOOST_TEST(report.error == "");
    BOOST_TEST(report.ops == 40U);
    // dev0 has two streams.
    if (mode == Mode::simulate) BOOST_TEST(report.makespan.count() >= 2000);
  }
}

BOOST_AUTO_TEST_CASE(a_window_that_a_memory_can_never_hold_is_refused) {
  const Machine machine = pair(16 << 10);
  SmallGraph g;
  Stream stream(machine, g.graph, {.mode = Mode::simulate});
  g.work("x", 100, {}, on(dev0), 12 << 10);
  BOOST_TEST(stream.submit(OpId::at(0)));  // x is kept
  g.work("y", 100, {}, on(dev0), 12 << 10);
  expect_error(ErrorKind::usage, "a memory can't hold what one window makes",
               [&] { stream.submit(OpId::at(0)); });
}

// x │ y │ z reads y      with room for one tensor and a half, then for two and a half
BOOST_AUTO_TEST_CASE(tensors_before_keep_from_make_room_for_the_submitted_window) {
  for (const Mode mode : all_modes) {
    const Machine tight = pair(12 << 10);
    SmallGraph g;
    Stream stream(tight, g.graph, {.mode = mode});
    const OpId x = g.work("x", 100, {}, on(dev0), 8 << 10);
    BOOST_TEST(stream.submit(x));
    const OpId y = g.work("y", 100, {}, on(dev0), 8 << 10);
    BOOST_TEST(stream.submit(y));
    BOOST_TEST(stream.finish("tight").ops == 2U);
  }
  for (const Mode mode : all_modes) {
    const Machine wider = pair(20 << 10);
    SmallGraph g;
    Stream stream(wider, g.graph, {.mode = mode});
    const OpId x = g.work("x", 100, {}, on(dev0), 8 << 10);
    BOOST_TEST(stream.submit(x));
    const OpId y = g.work("y", 100, {}, on(dev0), 8 << 10);
    BOOST_TEST(stream.submit(x));
    g.work("z", 100, {y}, on(dev0), 8 << 10);
    BOOST_TEST(stream.submit(all_so_far(g)));
    BOOST_TEST(stream.finish("wider").ops == 3U);
  }
}

BOOST_AUTO_TEST_CASE(a_failure_ends_the_stream_and_is_named) {
  const Machine machine = pair();
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    SmallGraph g;
    Stream stream(machine, g.graph, {.mode = mode});
    g.work("fine", 100, {}, on(dev0));
    BOOST_TEST(stream.submit(all_so_far(g)));
    g.op("broken", "fail", {}, on(dev1));
    stream.submit(all_so_far(g));
    int windows = 0;
    for (bool goes_on = true; goes_on; ++windows) {
      g.work("more" + std::to_string(windows), 100, {}, on(dev0));
      goes_on = stream.submit(all_so_far(g));
    }
    const ScenarioReport report = stream.finish("failing");
    BOOST_TEST((report.outcome == Outcome::failed));
    BOOST_TEST(report.error.find("'broken' on dev1") != std::string::npos, report.error);
    BOOST_TEST(report.finished < report.planned);
  }
}

BOOST_AUTO_TEST_CASE(an_interrupt_ends_the_stream) {
  const Machine machine = pair();
  for (const Mode mode : all_modes) {
    std::atomic<bool> interrupted = false;
    SmallGraph g;
    Stream stream(machine, g.graph, {.mode = mode, .interrupted = &interrupted});
    bool goes_on = true;
    for (int i = 0; goes_on; ++i) {
      if (i == 5) interrupted = true;
      g.work("x" + std::to_string(i), 100, {}, on(dev0));
      goes_on = stream.submit(all_so_far(g));
    }
    const ScenarioReport report = stream.finish("interrupted");
    BOOST_TEST((report.outcome == Outcome::interrupted));
    BOOST_TEST(report.ops >= 1U);
  }
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_not_finished_ends_with_its_object) {
  const Machine machine = pair();
  for (const Mode mode : all_modes) {
    SmallGraph g;
    Stream stream(machine, g.graph, {.mode = mode});
    g.work("x", 100, {}, on(dev0));
    BOOST_TEST(stream.submit(all_so_far(g)));
  }
}

BOOST_AUTO_TEST_CASE(an_op_that_no_device_can_run_is_refused_by_submit) {
  SmallMachine m;
  m.device("dev0", m.memory("a"));
  m.machine.devices[0].flops = std::nullopt;
  SmallGraph g;
  Stream stream(m.machine, g.graph, {.mode = Mode::simulate});
  g.work("x", 100);
  expect_error(ErrorKind::usage, "no device has a rate for 'work'",
               [&] { stream.submit(all_so_far(g)); });
}

BOOST_AUTO_TEST_CASE(an_op_that_reads_a_released_tensor_is_refused) {
  const Machine machine = pair();
  SmallGraph g;
  Stream stream(machine, g.graph, {.mode = Mode::simulate});
  const OpId x = g.work("x", 100, {}, on(dev0));
  BOOST_TEST(stream.submit(all_so_far(g)));
  g.work("y", 100, {x}, on(dev0));
  expect_error(ErrorKind::usage, "'y' reads 'x', which nothing was to read any more",
               [&] { stream.submit(all_so_far(g)); });
}

BOOST_AUTO_TEST_CASE(a_stream_that_refused_a_window_can_be_finished_and_has_failed) {
  const Machine machine = pair();
  for (const Mode mode : all_modes) {
    SmallGraph g;
    Stream stream(machine, g.graph, {.mode = mode});
    const OpId x = g.work("x", 100, {}, on(dev0));
    BOOST_TEST(stream.submit(all_so_far(g)));
    for (int i = 0; i < 5000; ++i) g.work("y" + std::to_string(i), 100, {}, on(dev0));
    try {
      g.work("z", 100, {x}, on(dev0));
      stream.submit(all_so_far(g));
      BOOST_ERROR("x was let go");
    } catch (const Error& error) {
      BOOST_TEST((error.kind() == ErrorKind::usage));
    }
    const ScenarioReport report = stream.finish("refused");
    BOOST_TEST(report.ops == 1U);
  }
}

BOOST_AUTO_TEST_CASE(a_window_too_large_fails_the_stream) {
  const Machine machine = pair(16 << 10);
  SmallGraph g;
  Stream stream(machine, g.graph, {.mode = Mode::simulate});
  g.work("x", 100, {}, on(dev0));
  BOOST_TEST(stream.submit(all_so_far(g)));
  g.work("huge", 100, {}, on(dev0), 32 << 10);
  expect_error(ErrorKind::usage, "a memory can't hold", [&] { stream.submit(all_so_far(g)); });
  g.work("later", 100, {}, on(dev0));
  BOOST_TEST(!stream.submit(all_so_far(g)));
  const ScenarioReport report = stream.finish("too large");
  BOOST_TEST((report.outcome == Outcome::failed));
  BOOST_TEST(report.error.find("a memory can't hold") != std::string::npos);
  BOOST_TEST(report.ops == 1U);
  BOOST_TEST(report.planned == 2U);
}

// Virtual time doesn't pass while a completed window makes room for the next.
BOOST_AUTO_TEST_CASE(few_windows_in_flight_take_as_long_as_many_where_devices_are_kept_busy) {
  const Machine machine = pair();
  std::vector<std::int64_t> makespans;
  for (const std::size_t in_flight : {3U, 1000U}) {
    SmallGraph g;
    Stream stream(machine, g.graph, {.mode = Mode::simulate, .windows_in_flight = in_flight});
    for (int i = 0; i < 600; ++i) {
      g.work("x" + std::to_string(i), 100, {}, i % 2 == 0 ? on(DeviceId{1}) : on(dev0));
      BOOST_TEST(stream.submit(all_so_far(g)));
    }
    makespans.push_back(stream.finish("alternating").makespan.count());
  }
  BOOST_TEST(makespans[0] == makespans[1]);
}

BOOST_AUTO_TEST_CASE(the_order_of_messages_does_not_change_a_simulated_stream) {
  const Machine machine = pair();
  const std::vector<DeviceId> devices{dev0, dev1};
  PointTask task;
  task.pattern = {.dependence = Dependence::stencil_1d, .width = 6, .steps = 40};
  std::vector<std::int64_t> makespans;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Graph graph{pattern_ops()};
    Stream stream(machine, graph, {.mode = Mode::simulate, .seed = seed, .windows_in_flight = 100});
    PatternRows rows(graph, task.pattern, point_ops(graph, task, devices), "grid");
    while (!rows.is_complete()) {
      rows.append(4);
      BOOST_TEST(stream.submit(rows.last_row()));
    }
    makespans.push_back(stream.finish("grid").makespan.count());
  }
  BOOST_TEST(makespans == std::vector(8, makespans[0]), boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
