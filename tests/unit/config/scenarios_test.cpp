// `scenarios` of run files.
#include "core/config/run_file.hpp"
#include "tests/unit/config/temporary_files.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(scenarios)
namespace {

// x ──▶ run ──▶ copy ──▶ back          What tests add begins in line 8.
constexpr std::string_view head =
    "machine: {devices: {cpu: {kind: cpu, memory: m}}, "
    "memories: {m: {size: 1 GiB}, n: {size: 1 GiB}}}\n"
    R"(tensors:
  x: {op: uniform, shape: [4, 4], on: cpu}
tasks:
  run:  {op: matmul, in: [x, x], repeat: 2}
  copy: {op: copy, in: [run], to: n}
  back: {op: copy, in: [copy], to: m}
)";

RunFile load(std::string_view rest) {
  const TemporaryFiles files;
  return load_run_file(files.write("run.yaml", std::string(head) + std::string(rest)));
}

std::string error(std::string_view rest) {
  return run_error_of(std::string(head) + std::string(rest));
}

// "run copy wait"
std::string steps(const RunFile& run, std::size_t scenario) {
  std::string text;
  for (const Step& step : run.scenarios[scenario].steps) {
    if (!text.empty()) text += ' ';
    text += step.is_wait() ? "wait" : run.graph.group(step.group).name;
  }
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(scenarios_are_read_in_order) {
  const RunFile run = load(
      "scenarios:\n  run, then copy: [run, wait, copy, wait]\n  run and copy:   [run, copy, "
      "wait]\n");
  BOOST_REQUIRE(run.scenarios.size() == 2U);
  BOOST_TEST(run.scenarios[0].name == "run, then copy");
  BOOST_TEST(run.scenarios[0].place.line == 9);
  BOOST_TEST(run.scenarios[0].place.column == 3);
  BOOST_TEST(steps(run, 0) == "run wait copy wait");
  BOOST_TEST(steps(run, 1) == "run copy wait");
  BOOST_TEST(run.scenarios[1].steps[1].place.line == 10);
  BOOST_TEST(run.scenarios[1].steps[1].place.column == 25);
}

BOOST_AUTO_TEST_CASE(without_scenarios_there_is_one_with_all_tasks) {
  const RunFile run = load("");
  BOOST_REQUIRE(run.scenarios.size() == 1U);
  BOOST_TEST(run.scenarios[0].name == "all");
  BOOST_TEST(steps(run, 0) == "run copy back wait");
}

BOOST_AUTO_TEST_CASE(what_a_scenario_needs_but_does_not_list_is_no_error) {
  BOOST_TEST(steps(load("scenarios: {copy: [copy, wait]}\n"), 0) == "copy wait");
  BOOST_TEST(steps(load("scenarios: {back: [back]}\n"), 0) == "back");
}

BOOST_AUTO_TEST_CASE(waits_may_stand_anywhere) {
  BOOST_TEST(steps(load("scenarios: {a: [wait, run, wait, wait, copy]}\n"), 0) ==
             "wait run wait wait copy");
}

BOOST_AUTO_TEST_CASE(tasks_between_two_waits_may_stand_in_any_order) {
  BOOST_TEST(steps(load("scenarios: {a: [copy, run, wait]}\n"), 0) == "copy run wait");
}

BOOST_AUTO_TEST_CASE(an_unknown_step_is_refused_with_the_nearest_one) {
  BOOST_TEST(error("scenarios: {a: [run, wait, cpy]}\n") ==
             "run.yaml:8:28: there is no task 'cpy'; did you mean 'copy'?");
  BOOST_TEST(error("scenarios: {a: [run, wiat]}\n") ==
             "run.yaml:8:22: there is no task 'wiat'; did you mean 'wait'?");
  BOOST_TEST(error("scenarios: {a: [\"run[0]\"]}\n")
                 .starts_with("run.yaml:8:17: there is no task 'run[0]'; "));
  BOOST_TEST(error("scenarios: {a: [[run]]}\n") ==
             "run.yaml:8:17: a step of scenario 'a' is a list; write the name of a task, or wait");
}

BOOST_AUTO_TEST_CASE(a_tensor_as_a_step_is_refused) {
  BOOST_TEST(error("scenarios: {a: [x, run]}\n") ==
             "run.yaml:8:17: 'x' is a tensor, not a task; tensors are prepared before the clock "
             "starts: remove the step, or move it from tensors to tasks");
}

BOOST_AUTO_TEST_CASE(a_task_listed_twice_is_refused) {
  BOOST_TEST(
      error("scenarios: {a: [run, wait, run]}\n") ==
      "run.yaml:8:28: 'run' is listed twice; the first is in line 8, column 17; remove one: a "
      "task runs once in a scenario; `repeat` makes more of it");
}

BOOST_AUTO_TEST_CASE(a_scenario_without_tasks_is_refused) {
  for (const char* list : {"[]", "[wait]", "[wait, wait]"}) {
    BOOST_TEST(error("scenarios: {a: " + std::string(list) + "}\n") ==
               "run.yaml:8:16: scenario 'a' lists no task; list tasks and waits, as in [run, wait, "
               "copy, wait]");
  }
  BOOST_TEST(error("scenarios: {a: run}\n") ==
             "run.yaml:8:16: scenario 'a' is 'run'; write a list, [a, b, …]");
  BOOST_TEST(error("scenarios: {}\n").starts_with("run.yaml:8:12: there are no scenarios; "));
  BOOST_TEST(error("scenarios: [run]\n").starts_with("run.yaml:8:12: scenarios is a list; "));
}

BOOST_AUTO_TEST_CASE(a_task_that_needs_one_behind_a_later_wait_is_refused) {
  BOOST_TEST(
      error("scenarios: {a: [copy, wait, run, wait]}\n") ==
      "run.yaml:8:17: 'copy' needs 'run', which this scenario lists only after a later wait; "
      "list 'run' before it");
}

BOOST_AUTO_TEST_CASE(a_task_that_is_not_listed_but_needs_one_that_is_is_refused) {
  BOOST_TEST(
      error("scenarios: {a: [run, wait, back]}\n") ==
      "run.yaml:8:28: 'back' needs 'copy', which isn't listed and so would be prepared before "
      "the clock starts, but needs 'run', which is listed; list 'copy' too");
}

// d needs c, which needs b, which needs a: c and b aren't listed.
BOOST_AUTO_TEST_CASE(a_task_that_is_not_listed_but_needs_a_listed_one_through_another_is_refused) {
  const std::string text = run_error_of(
      R"(machine: {devices: {cpu: {kind: cpu, memory: m}}, memories: {m: {size: 1 GiB}}}
tasks:
  a: {op: zeros, shape: [2]}
  b: {op: relu, in: a}
  c: {op: relu, in: b}
  d: {op: relu, in: c}
scenarios: {s: [a, wait, d]}
)");
  BOOST_TEST(text.starts_with("run.yaml:7:26: 'd' needs 'b', which isn't listed"), text);
  BOOST_TEST(text.ends_with("but needs 'a', which is listed; list 'b' too"), text);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_needs_a_listed_task_is_refused) {
  const std::string text = run_error_of(
      R"(machine: {devices: {cpu: {kind: cpu, memory: m}}, memories: {m: {size: 1 GiB}}}
tasks:
  a: {op: zeros, shape: [2]}
  c: {op: relu, in: b}
tensors:
  b: {op: relu, in: a}
)");
  BOOST_TEST(text.starts_with("run.yaml:4:3: 'c' needs 'b', which isn't listed"), text);
  BOOST_TEST(text.ends_with("move 'b' from tensors to tasks, and list it"), text);
}

BOOST_AUTO_TEST_CASE(names_of_scenarios_are_checked) {
  BOOST_TEST(error("scenarios: {\"\": [run]}\n")
                 .starts_with("run.yaml:8:13: a scenario's name must be one line"));
  BOOST_TEST(
      error("scenarios: {\"a\\nb\": [run]}\n").starts_with("run.yaml:8:13: a scenario's name"));
  BOOST_TEST(
      error("scenarios:\n  a: [run]\n  a: [run]\n").starts_with("run.yaml:10:3: 'a' occurs twice"));
}

BOOST_AUTO_TEST_SUITE_END()
