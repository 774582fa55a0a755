// Patterns run by actors: every payload is checked by its readers, and every result equals the
// serial execution.
#include "core/patterns/patterns.hpp"

#include "actors/runner.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "tests/support/small_machine.hpp"

#include <array>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(patterns)
namespace {

using testing::SmallMachine;

// Three devices; the first two share a memory.
Machine three_devices() {
  SmallMachine m;
  const MemoryId near = m.memory("near");
  const MemoryId far = m.memory("far");
  m.device("dev0", near);
  m.device("dev1", near);
  m.device("dev2", far);
  m.link("link", near, far);
  return m.machine;
}

constexpr std::array devices = {DeviceId{0}, DeviceId{1}, DeviceId{2}};

PointTask task_of(Dependence dependence, std::uint32_t width, std::uint32_t steps) {
  PointTask task;
  task.pattern = {.dependence = dependence,
                  .width = width,
                  .steps = steps,
                  .radix = std::min(width, 4U),
                  .fraction = 0.5,
                  .seed = 3};
  return task;
}

// Appended after another group, so that an op's index in the graph differs from that in its group.
Report perform(const PointTask& task, Mode mode, std::uint64_t order) {
  const Machine machine = three_devices();
  Graph graph{pattern_ops()};
  const GroupId first = append_points(graph, task_of(Dependence::dom, 3, 2), devices, "first");
  const GroupId points = append_points(graph, task, devices, "points");
  const std::vector<Scenario> scenarios{
      {.name = "all", .steps = {Step{.group = first}, Step{.group = points}}}};
  return Run(machine, graph, scenarios, {.mode = mode, .seed = order}).perform();
}

void check(const Report& report, std::uint64_t points) {
  const ScenarioReport& s = report.scenarios.at(0);
  BOOST_TEST((s.outcome == Outcome::done), s.error);
  BOOST_TEST(s.ops == points + 6);
  BOOST_TEST((s.verified == true), s.mismatch);
}

BOOST_AUTO_TEST_CASE(every_pattern_reads_the_payloads_it_should_whatever_the_order_of_messages) {
  for (std::size_t d = 0; d < dependences().size(); ++d) {
    for (const std::uint32_t width : {3U, 5U, 8U, 12U}) {
      const PointTask task = task_of(static_cast<Dependence>(d), width, 7);
      for (std::uint64_t order = 0; order < 4; ++order) {
        BOOST_TEST_CONTEXT(dependences()[d].name << ", width " << width << ", order " << order) {
          check(perform(task, Mode::rehearse, order), task.pattern.points());
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_pattern_and_every_work_runs_on_threads) {
  for (std::size_t d = 0; d < dependences().size(); ++d) {
    PointTask task = task_of(static_cast<Dependence>(d), 9, 40);
    for (const PointWork work : {PointWork::empty, PointWork::spin, PointWork::memory}) {
      task.work = work;
      task.iterations = 20;
      task.bytes = 4096;
      task.imbalance = 1;
      task.output_bytes = 100;
      BOOST_TEST_CONTEXT(dependences()[d].name << ", " << static_cast<int>(work)) {
        check(perform(task, Mode::run, 0), task.pattern.points());
      }
    }
  }
}

// All of the pattern's ops, but each reads the row before as if it were shifted by one column.
BOOST_AUTO_TEST_CASE(a_graph_that_is_not_the_pattern_it_says_fails) {
  const Machine machine = three_devices();
  Graph graph{pattern_ops()};
  const PointTask task = task_of(Dependence::no_comm, 3, 2);
  const GroupId group = graph.begin_group("points", true);
  OpSpec op{.kind = graph.kinds().find("point"), .attrs = to_attrs(task)};
  op.placement.device = devices[0];
  for (int i = 0; i < 3; ++i) graph.append(op);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const OpId input{(i + 1) % 3};
    op.inputs = {&input, 1};
    graph.append(op);
  }
  const std::vector<Scenario> scenarios{{.name = "all", .steps = {Step{.group = group}}}};
  const Report report = Run(machine, graph, scenarios, {.mode = Mode::run}).perform();
  BOOST_TEST((report.scenarios.at(0).outcome == Outcome::failed));
  const std::string expected = "input 0 of point (1, 0) carries (0, 1) at byte 0 and not (0, 0)";
  BOOST_TEST(report.scenarios[0].error.find(expected) != std::string::npos,
             report.scenarios[0].error);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
