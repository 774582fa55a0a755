// Tasks of run files that stand for a pattern.
#include "core/patterns/dependence.hpp"
#include "core/patterns/point_task.hpp"
#include "tests/unit/config/task_files.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(pattern_tasks)

// t = 0:   0   1   2   3
//          |\ /|\ /|\ /|
// t = 1:   4   5   6   7
BOOST_AUTO_TEST_CASE(a_pattern_stands_for_a_grid) {
  const RunFile run = load(
      "tasks: {g: {pattern: stencil_1d, width: 4, steps: 2, kernel: sleep, duration: 1 us, on: "
      "[cpu0, "
      "cpu1]}}\n");
  BOOST_TEST(run.graph.group(run.graph.find_group("g")).count == 8U);
  BOOST_TEST(input_names(run.graph, element(run, "g", 4)) == (Names{"g[0]", "g[1]"}));
  BOOST_TEST(input_names(run.graph, element(run, "g", 6)) == (Names{"g[1]", "g[2]", "g[3]"}));
  BOOST_TEST((run.graph.attrs(element(run, "g", 6)) == Attrs{{"duration", Duration{1us}}}));
  BOOST_TEST(run.machine.device(run.graph.placement(element(run, "g", 5)).device).name == "cpu0");
  BOOST_TEST(run.machine.device(run.graph.placement(element(run, "g", 6)).device).name == "cpu1");
}

BOOST_AUTO_TEST_CASE(a_pattern_may_be_read_by_other_tasks) {
  const RunFile run = load(
      "tasks:\n  g: {pattern: stencil_1d, width: 2, steps: 2, kernel: spin, iterations: 1}\n"
      "  last: {op: add, in: [\"g[2]\", \"g[3]\"]}\n");
  BOOST_TEST(input_names(run.graph, element(run, "last")) == (Names{"g[2]", "g[3]"}));
}

BOOST_AUTO_TEST_CASE(patterns_are_checked) {
  BOOST_TEST(task_error("{pattern: stencil_2d, width: 4, steps: 2, kernel: spin}") ==
             "run.yaml:3:22: pattern of 't' is 'stencil_2d'; did you mean 'stencil_1d'?");
  BOOST_TEST(task_error("{pattern: stencil_1d, steps: 2, kernel: spin}") ==
             "run.yaml:3:12: 't' has no 'width'; add `width: …`");
  BOOST_TEST(task_error("{pattern: stencil_1d, width: 2, kernel: spin}") ==
             "run.yaml:3:12: 't' has no 'steps'; add `steps: …`");
  BOOST_TEST(task_error("{pattern: stencil_1d, width: 2, steps: 2}") ==
             "run.yaml:3:12: 't' has no 'kernel'; add `kernel: …`");
  BOOST_TEST(task_error("{pattern: stencil_1d, width: 0, steps: 2, kernel: spin}")
                 .starts_with("run.yaml:3:41: width of 't' is '0'; "));
  BOOST_TEST(
      task_error("{pattern: stencil_1d, width: 32, steps: 625001, kernel: spin, iterations: 1}") ==
      "run.yaml:3:52: 't' is 20000032 ops, width times steps; the limit is 20000000");
  BOOST_TEST(
      task_error("{pattern: stencil_1d, width: 4, steps: 2, kernel: matmul}")
          .starts_with("run.yaml:3:62: kernel of 't' is 'matmul', which can't be one; one of: "
                       "spin, sleep"));
  BOOST_TEST(task_error("{pattern: stencil_1d, width: 4, steps: 2, kernel: spin}") ==
             "run.yaml:3:62: 'spin' needs 'iterations'; add `iterations: …`");
  BOOST_TEST(
      task_error(
          "{pattern: stencil_1d, width: 4, steps: 2, kernel: spin, iterations: 1, repeat: 2}")
          .starts_with("run.yaml:3:83: a pattern of 'spin' has no key 'repeat'; "));
}

BOOST_AUTO_TEST_CASE(every_pattern_can_be_written) {
  for (const DependenceInfo& d : dependences()) {
    for (const std::string_view kernel :
         {"empty", "spin, iterations: 4", "memory, bytes: 64", "sleep, duration: 1 us"}) {
      const RunFile run = load("tasks: {g: {pattern: " + std::string(d.name) +
                               ", width: 4, steps: 3, kernel: " + std::string(kernel) + "}}\n");
      const Pattern pattern{
          .dependence = static_cast<Dependence>(&d - dependences().data()), .width = 4, .steps = 3};
      BOOST_TEST(run.graph.group(run.graph.find_group("g")).count == pattern.points());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_pattern_is_made_of_points_with_what_is_written) {
  const RunFile run = load(
      "tasks: {g: {pattern: random_nearest, width: 6, steps: 2, radix: 5, fraction: 0.5, seed: 9, "
      "kernel: spin, iterations: 7, imbalance: 0.25, output_bytes: 1 KiB}}\n");
  PointTask task;
  task.pattern = {.dependence = Dependence::random_nearest,
                  .width = 6,
                  .steps = 2,
                  .radix = 5,
                  .fraction = 0.5,
                  .seed = 9};
  task.work = PointWork::spin;
  task.iterations = 7;
  task.imbalance = 0.25;
  task.output_bytes = 1024;
  BOOST_TEST(run.graph.kind(element(run, "g", 11)).name == "point");
  BOOST_TEST((run.graph.attrs(element(run, "g", 11)) == to_attrs(task)));
}

BOOST_AUTO_TEST_CASE(a_stencil_of_spin_stays_made_of_the_op_spin) {
  const auto kind = [](std::string_view rest) {
    const RunFile run = load("tasks: {g: {width: 2, steps: 2, kernel: spin, iterations: 1, " +
                             std::string(rest) + "}}\n");
    return run.graph.kind(element(run, "g")).name;
  };
  BOOST_TEST(kind("pattern: stencil_1d") == "spin");
  BOOST_TEST(kind("pattern: stencil_1d, output_bytes: 16") == "point");
  BOOST_TEST(kind("pattern: stencil_1d, imbalance: 0") == "point");
  BOOST_TEST(kind("pattern: dom") == "point");
}

BOOST_AUTO_TEST_CASE(a_radix_that_is_not_written_is_3_or_the_width) {
  const RunFile run = load("tasks: {g: {pattern: spread, width: 2, steps: 4, kernel: empty}}\n");
  // Row 3, where 3 mod period is 0.
  BOOST_TEST((input_names(run.graph, element(run, "g", 7)) == Names{"g[5]", "g[4]"}));
  const RunFile wide = load("tasks: {g: {pattern: nearest, width: 9, steps: 2, kernel: empty}}\n");
  BOOST_TEST((input_names(wide.graph, element(wide, "g", 13)) == Names{"g[3]", "g[4]", "g[5]"}));
}

// More readers than any other op may have.
BOOST_AUTO_TEST_CASE(a_point_may_read_any_number_of_columns) {
  const RunFile run = load(
      "tasks: {g: {pattern: all_to_all, width: 100, steps: 2, kernel: spin, iterations: 1}}\n");
  BOOST_TEST(run.graph.inputs(element(run, "g", 100)).size() == 100U);
}

BOOST_AUTO_TEST_CASE(parameters_of_patterns_are_checked) {
  BOOST_TEST(task_error("{pattern: fft, width: 4, steps: 2, kernel: empty, radix: 3}") ==
             "run.yaml:3:62: 'fft' takes no 'radix'; remove it; nearest, spread, random_nearest "
             "take one");
  BOOST_TEST(task_error("{pattern: nearest, width: 4, steps: 2, kernel: empty, period: 3}") ==
             "run.yaml:3:66: 'nearest' takes no 'period'; remove it; spread takes one");
  BOOST_TEST(task_error("{pattern: spread, width: 4, steps: 2, kernel: empty, fraction: 0.5}")
                 .starts_with("run.yaml:3:65: 'spread' takes no 'fraction'; "));
  BOOST_TEST(task_error("{pattern: spread, width: 4, steps: 2, kernel: empty, seed: 1}")
                 .starts_with("run.yaml:3:65: a pattern of 'empty' has no key 'seed'; "));
  BOOST_TEST(task_error("{pattern: nearest, radix: 0, width: 4, steps: 2, kernel: empty}")
                 .starts_with("run.yaml:3:38: radix of 't' is '0'; "));
  BOOST_TEST(task_error("{pattern: nearest, radix: -1, width: 4, steps: 2, kernel: empty}")
                 .starts_with("run.yaml:3:38: radix of 't' is '-1'; "));
  BOOST_TEST(task_error("{pattern: spread, radix: 5, width: 4, steps: 2, kernel: empty}") ==
             "run.yaml:3:22: 't': the radix is 5, and there are 4 columns; a spread reads at most "
             "every column once");
  BOOST_TEST(
      task_error("{pattern: random_nearest, fraction: 1.5, width: 4, steps: 2, kernel: empty}") ==
      "run.yaml:3:48: fraction of 't' is '1.5'; write a number from 0 to 1");
  BOOST_TEST(task_error("{pattern: all_to_all, width: 20000, steps: 1000, kernel: empty}")
                 .starts_with("run.yaml:3:22: 't': the pattern has 400000000000 dependences"));
  BOOST_TEST(
      task_error("{pattern: dom, width: 2, steps: 4, kernel: empty, on: [cpu0, cpu1, cpu0]}") ==
      "run.yaml:3:66: 't' has 2 columns, but `on` lists 3 devices; list at most as many devices "
      "as there are columns");
}

BOOST_AUTO_TEST_CASE(work_and_payloads_of_points_are_checked) {
  BOOST_TEST(task_error("{pattern: fft, width: 4, steps: 2, kernel: memory}") ==
             "run.yaml:3:55: 'memory' needs 'bytes'; add `bytes: …`");
  BOOST_TEST(task_error("{pattern: fft, width: 4, steps: 2, kernel: memory, bytes: 2 GiB}")
                 .starts_with("run.yaml:3:70: bytes of 't' is '2 GiB'; it goes from 0 to "));
  BOOST_TEST(task_error("{pattern: fft, width: 4, steps: 2, kernel: empty, iterations: 2}")
                 .starts_with("run.yaml:3:62: a pattern of 'empty' has no key 'iterations'; "));
  BOOST_TEST(task_error("{pattern: fft, width: 4, steps: 2, kernel: empty, output_bytes: 15}")
                 .starts_with("run.yaml:3:76: output_bytes of 't' is '15'; "));
  BOOST_TEST(task_error("{pattern: fft, width: 4, steps: 2, kernel: empty, output_bytes: []}")
                 .starts_with("run.yaml:3:76: output_bytes of 't' is a"));
  BOOST_TEST(
      task_error("{pattern: fft, width: 4, steps: 2, kernel: spin, iterations: 1, imbalance: -1}")
          .starts_with("run.yaml:3:87: imbalance of 't' is '-1'; "));
}

BOOST_AUTO_TEST_CASE(patterns_of_a_file_read_a_limited_number_of_tensors) {
  std::string many = "tasks:\n";
  for (int i = 0; i < 3; ++i) {
    many += "  t" + std::to_string(i) +
            ": {pattern: all_to_all, width: 20000, steps: 1, kernel: empty}\n";
  }
  BOOST_TEST(error(many) ==
             "run.yaml:6:3: with 't2' patterns and [*] give the ops of the file up to 1200000000 "
             "inputs; the limit is 1000000000");
}

BOOST_AUTO_TEST_CASE(a_point_is_no_task_of_its_own) {
  BOOST_TEST(task_error("{op: point}")
                 .starts_with("run.yaml:3:17: op of 't' is 'point', which is unknown; "));
}

BOOST_AUTO_TEST_SUITE_END()
