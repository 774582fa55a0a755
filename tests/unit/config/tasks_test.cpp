// `tensors` and `tasks` of run files.
#include "core/config/run_file.hpp"
#include "core/config/task.hpp"
#include "tests/unit/config/temporary_files.hpp"

#include <array>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

// Two lines; `x` is a single tensor. What tests add begins in line 3.
constexpr std::string_view head =
    "machine: {devices: {cpu0: {kind: cpu, memory: m0}, cpu1: {kind: cpu, memory: m1}}, memories: "
    "{m0: {size: 1 GiB}, m1: {size: 1 GiB}}, links: {l: {between: [m0, m1], bandwidth: 1 GB/s}}}\n"
    "tensors: {x: {op: uniform, shape: [4, 4], on: cpu0}}\n";

std::string with_head(std::string_view rest) {
  return std::string(head) + std::string(rest);
}

RunFile load(std::string_view rest) {
  const TemporaryFiles files;
  return load_run_file(files.write("run.yaml", with_head(rest)));
}

// The error of `tasks: {t: {…}}`; the inner brace stands in line 3, column 12.
std::string task_error(std::string_view task) {
  return run_error_of(with_head("tasks: {t: " + std::string(task) + "}\n"));
}
std::string error(std::string_view rest) {
  return run_error_of(with_head(rest));
}

std::vector<std::string> input_names(const Graph& graph, OpId op) {
  std::vector<std::string> names;
  for (const OpId input : graph.inputs(op)) names.push_back(graph.name(input));
  return names;
}

OpId element(const RunFile& run, std::string_view task, std::size_t i = 0) {
  const GroupId group = run.graph.find_group(task);
  BOOST_REQUIRE(static_cast<bool>(group));
  return OpId::at(run.graph.group(group).first.index() + i);
}

using Names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(tasks)

BOOST_AUTO_TEST_CASE(a_task_is_one_op_with_what_is_written) {
  const RunFile run = load("tasks: {t: {op: matmul, in: [x, x], transpose_b: true, on: cpu1}}\n");
  const Graph& graph = run.graph;
  const OpId t = element(run, "t");
  BOOST_TEST(graph.name(t) == "t");
  BOOST_TEST(graph.kind(t).name == "matmul");
  BOOST_TEST(input_names(graph, t) == (Names{"x", "x"}));
  BOOST_TEST((graph.attrs(t) == Attrs{false, true}));
  BOOST_TEST(run.machine.device(graph.placement(t).device).name == "cpu1");
  BOOST_TEST((graph.type(t) == TensorType{DType::f32, Shape{4, 4}}));
  const Group& group = graph.group(graph.find_group("t"));
  BOOST_TEST(group.place.line == 3);
  BOOST_TEST(group.place.column == 9);
  BOOST_TEST(!group.indexed);
}

BOOST_AUTO_TEST_CASE(attributes_have_the_type_that_their_op_says) {
  const RunFile run = load(
      "tasks:\n"
      "  a: {op: scale, in: x, alpha: 0.5}\n"
      "  b: {op: spin, iterations: 7}\n"
      "  c: {op: sleep, in: [a, b], duration: 10 ms}\n"
      "  d: {op: uniform, shape: [2, 3], dtype: float64, seed: 9}\n");
  BOOST_TEST((run.graph.attrs(element(run, "a")) == Attrs{0.5}));
  BOOST_TEST((run.graph.attrs(element(run, "b")) == Attrs{std::int64_t{7}}));
  BOOST_TEST((run.graph.attrs(element(run, "c")) == Attrs{Duration{10ms}}));
  BOOST_TEST((run.graph.attrs(element(run, "d")) == Attrs{std::int64_t{9}}));
  BOOST_TEST((run.graph.type(element(run, "d")) == TensorType{DType::f64, Shape{2, 3}}));
  BOOST_TEST((run.graph.attrs(element(run, "x")) == Attrs{std::int64_t{0}}));
}

BOOST_AUTO_TEST_CASE(a_copy_ends_in_a_memory_or_the_memory_of_a_device) {
  const RunFile run =
      load("tasks: {a: {op: copy, in: x, to: m1}, b: {op: copy, in: x, to: cpu1}}\n");
  BOOST_TEST(run.machine.memory(run.graph.placement(element(run, "a")).memory).name == "m1");
  BOOST_TEST(run.machine.memory(run.graph.placement(element(run, "b")).memory).name == "m1");
  BOOST_TEST(!run.graph.placement(element(run, "b")).device);
}

//   x ──▶ run[0] ──▶ copy[0]
//     ╲─▶ run[1] ──▶ copy[1]
//     ╲─▶ run[2] ──▶ copy[2]
BOOST_AUTO_TEST_CASE(repeat_makes_a_list_and_what_reads_a_list_is_one) {
  const RunFile run = load(
      "tasks:\n  run: {op: matmul, in: [x, x], repeat: 3}\n  copy: {op: copy, in: [run], to: "
      "m1}\n");
  const Graph& graph = run.graph;
  BOOST_TEST(graph.size() == 7U);
  BOOST_TEST(graph.group(graph.find_group("copy")).count == 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string index = "[" + std::to_string(i) + "]";
    BOOST_TEST(graph.name(element(run, "copy", i)) == "copy" + index);
    BOOST_TEST(input_names(graph, element(run, "copy", i)) == (Names{"run" + index}));
    BOOST_TEST(input_names(graph, element(run, "run", i)) == (Names{"x", "x"}));
  }
}

BOOST_AUTO_TEST_CASE(lists_combine_element_by_element_and_single_tensors_with_all) {
  const RunFile run = load(
      "tasks:\n"
      "  a: {op: relu, in: x, repeat: 2}\n"
      "  b: {op: relu, in: x, repeat: 2}\n"
      "  c: {op: add, in: [a, b], repeat: 2}\n"
      "  d: {op: add, in: [x, c]}\n");
  BOOST_TEST(input_names(run.graph, element(run, "c", 1)) == (Names{"a[1]", "b[1]"}));
  BOOST_TEST(input_names(run.graph, element(run, "d", 1)) == (Names{"x", "c[1]"}));
  BOOST_TEST(run.graph.group(run.graph.find_group("d")).count == 2U);
}

BOOST_AUTO_TEST_CASE(one_element_of_a_list_is_a_single_tensor) {
  const RunFile run = load(
      "tasks:\n"
      "  a: {op: relu, in: x, repeat: 3}\n"
      "  b: {op: add, in: [\"a[2]\", x]}\n"
      "  c:\n    op: add\n    in:\n    - a[0]\n    - a\n");
  BOOST_TEST(input_names(run.graph, element(run, "b")) == (Names{"a[2]", "x"}));
  BOOST_TEST(run.graph.group(run.graph.find_group("b")).indexed == false);
  BOOST_TEST(input_names(run.graph, element(run, "c", 2)) == (Names{"a[0]", "a[2]"}));
}

BOOST_AUTO_TEST_CASE(a_list_of_one_is_a_list) {
  const RunFile run =
      load("tasks: {a: {op: relu, in: x, repeat: 1}, b: {op: relu, in: \"a[0]\"}}\n");
  BOOST_TEST(run.graph.name(element(run, "a")) == "a[0]");
  BOOST_TEST(run.graph.name(element(run, "b")) == "b");
}

BOOST_AUTO_TEST_CASE(the_seed_of_a_list_counts_up) {
  const RunFile run = load("tasks: {a: {op: uniform, shape: [2], seed: 5, repeat: 3}}\n");
  for (std::size_t i = 0; i < 3; ++i) {
    const Attrs expected = {static_cast<std::int64_t>(5 + i)};
    BOOST_TEST((run.graph.attrs(element(run, "a", i)) == expected));
  }
  BOOST_TEST(task_error("{op: uniform, shape: [2], seed: 1099511627775, repeat: 2}") == "");
  BOOST_TEST(task_error("{op: uniform, shape: [2], seed: 1099511627775, repeat: 3}") ==
             "run.yaml:3:44: seed of 't' counts up beyond 1099511627776; start lower");
}

BOOST_AUTO_TEST_CASE(a_list_is_dealt_to_devices_in_contiguous_blocks) {
  const RunFile run = load("tasks: {a: {op: relu, in: x, repeat: 5, on: [cpu0, cpu1]}}\n");
  const std::array<std::string_view, 5> expected = {"cpu0", "cpu0", "cpu0", "cpu1", "cpu1"};
  for (std::size_t i = 0; i < 5; ++i) {
    BOOST_TEST(run.machine.device(run.graph.placement(element(run, "a", i)).device).name ==
               expected[i]);
  }
  BOOST_TEST(
      task_error("{op: relu, in: x, on: [cpu0, cpu1]}") ==
      "run.yaml:3:34: 't' is 1 op, but `on` lists 2 devices; list at most as many devices as "
      "there are ops");
}

BOOST_AUTO_TEST_CASE(tasks_may_be_written_in_any_order) {
  const RunFile run =
      load("tasks:\n  c: {op: relu, in: b}\n  b: {op: relu, in: a}\n  a: {op: relu, in: x}\n");
  BOOST_TEST(run.graph.name(OpId::at(1)) == "a");
  BOOST_TEST(run.graph.name(OpId::at(3)) == "c");
  BOOST_TEST(input_names(run.graph, element(run, "c")) == (Names{"b"}));
}

// x ──▶ a ──▶ c, all but c prepared
BOOST_AUTO_TEST_CASE(what_others_read_may_be_written_after_them_and_stay_unlisted) {
  const RunFile run = load(
      "tasks: {c: {op: relu, in: a}, a: {op: relu, in: x}}\n"
      "scenarios: {only c: [c]}\n");
  BOOST_TEST(input_names(run.graph, element(run, "c")) == (Names{"a"}));
  BOOST_TEST(run.scenarios[0].steps.size() == 1U);
}

// a ◀── b ◀── c ◀── a: each reads the next
BOOST_AUTO_TEST_CASE(a_cycle_is_refused_and_shown) {
  BOOST_TEST(error("tasks:\n  z: {op: relu, in: a}\n  a: {op: relu, in: b}\n  b: {op: add, in: [x, "
                   "c]}\n  c: {op: relu, in: a}\n") ==
             "run.yaml:7:21: these tasks need each other: a → b → c → a; a task can't need its own "
             "result, not even through others: remove one `in`");
  BOOST_TEST(error("tasks: {a: {op: relu, in: a}}\n")
                 .starts_with("run.yaml:3:27: these tasks need each other: a → a; "));
}

BOOST_AUTO_TEST_CASE(a_long_cycle_is_shown_in_part_and_a_long_chain_is_no_trouble) {
  std::string chain = "tasks:\n  t0: {op: relu, in: LAST}\n";
  for (int i = 1; i < 20'000; ++i) {
    chain += "  t" + std::to_string(i) + ": {op: relu, in: t" + std::to_string(i - 1) + "}\n";
  }
  std::string cycle = chain;
  cycle.replace(cycle.find("LAST"), 4, "t19999");
  BOOST_TEST(error(cycle).starts_with(
      "run.yaml:5:22: these tasks need each other: t0 → t19999 → t19998 → t19997 → t19996 → t19995 "
      "→ … → t6 → t5 → t4 → t3 → t2 → t1 → t0; "));
  chain.replace(chain.find("LAST"), 4, "x");
  BOOST_TEST(load(chain).graph.size() == 20'001U);
}

BOOST_AUTO_TEST_CASE(names_are_checked) {
  BOOST_TEST(error("tasks: {1a: {op: relu, in: x}}\n")
                 .starts_with("run.yaml:3:9: a task can't be named '1a'; begin with a letter"));
  BOOST_TEST(error("tasks: {wait: {op: relu, in: x}}\n")
                 .starts_with("run.yaml:3:9: a task can't be named 'wait': "));
  BOOST_TEST(
      error("tasks: {x: {op: relu, in: x}}\n") ==
      "run.yaml:3:9: the name 'x' is taken; it is in line 2 too; give each tensor and task a "
      "name of its own");
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused_with_the_nearest_one) {
  BOOST_TEST(task_error("{op: matmull, in: [x, x]}") ==
             "run.yaml:3:17: op of 't' is 'matmull', which is unknown; did you mean 'matmul'?");
  BOOST_TEST(
      task_error("{op: relu, in: y}")
          .starts_with("run.yaml:3:27: 't' reads 'y', which is no tensor or task; one of: x, t"));
  BOOST_TEST(
      error("tensors2: {}\n")
          .starts_with("run.yaml:3:1: a run file has no key 'tensors2'; did you mean 'tensors'?"));
  BOOST_TEST(task_error("{op: relu, in: x, on: cpu2}") ==
             "run.yaml:3:34: the machine 'run' has no device 'cpu2'; did you mean 'cpu0'?");
  BOOST_TEST(task_error("{op: copy, in: x, to: m7}") ==
             "run.yaml:3:34: the machine 'run' has no memory or device 'm7'; did you mean 'm0'?");
  BOOST_TEST(task_error("{op: scale, in: x, alhpa: 2}") ==
             "run.yaml:3:31: 'scale' has no key 'alhpa'; did you mean 'alpha'?");
}

BOOST_AUTO_TEST_CASE(a_memory_is_no_place_to_run_on) {
  BOOST_TEST(task_error("{op: relu, in: x, on: m0}") ==
             "run.yaml:3:34: on of 't' is 'm0', which is a memory; name a device");
  BOOST_TEST(task_error("{op: relu, in: x, on: []}")
                 .starts_with("run.yaml:3:34: on of 't' is an empty list; "));
}

BOOST_AUTO_TEST_CASE(keys_of_other_ops_are_refused_with_advice) {
  BOOST_TEST(task_error("{op: relu, in: x, to: m0}") ==
             "run.yaml:3:30: 'relu' takes no 'to'; use `on:` to say which device runs it; `to:` is "
             "for copies");
  BOOST_TEST(
      task_error("{op: copy, in: x, on: cpu0}") ==
      "run.yaml:3:30: 'copy' takes no 'on'; links do it, not a device; use `to:` to say where "
      "it ends");
  BOOST_TEST(task_error("{op: relu, in: x, shape: [2]}")
                 .starts_with("run.yaml:3:30: 'relu' takes no 'shape'; remove it"));
  BOOST_TEST(
      task_error("{op: copy, in: x}") ==
      "run.yaml:3:17: 't' doesn't say where to copy to; add `to:` with a memory, or a device "
      "for its memory");
}

BOOST_AUTO_TEST_CASE(a_task_is_a_map_with_an_op_or_a_pattern) {
  BOOST_TEST(task_error("relu") == "run.yaml:3:12: 't' is 'relu'; write a map, {key: value, …}");
  BOOST_TEST(task_error("{in: x}") == "run.yaml:3:12: 't' has no 'op'; add `op: …`");
  BOOST_TEST(task_error("{op: relu, pattern: stencil_1d}") ==
             "run.yaml:3:32: 't' has both 'op' and 'pattern'; keep one of them");
}

BOOST_AUTO_TEST_CASE(a_wrong_number_of_inputs_is_refused) {
  BOOST_TEST(task_error("{op: matmul, in: [x]}")
                 .starts_with("run.yaml:3:29: 't': 'matmul' takes 2 inputs"));
  BOOST_TEST(task_error("{op: matmul}").starts_with("run.yaml:3:17: 't': 'matmul' takes 2 inputs"));
  BOOST_TEST(task_error("{op: zeros, shape: [2], in: [x]}")
                 .starts_with("run.yaml:3:40: 't': 'zeros' takes 0 inputs"));
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_refused_at_the_inputs) {
  const std::string text =
      error("tasks:\n  a: {op: zeros, shape: [3, 3]}\n  b: {op: add, in: [x, a], repeat: 2}\n");
  BOOST_TEST(text.starts_with("run.yaml:5:20: 'b[0]': "), text);
  BOOST_TEST(text.find("float32 [4, 4]") != std::string::npos);
  BOOST_TEST(text.find("float32 [3, 3]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(attributes_are_checked) {
  BOOST_TEST(task_error("{op: spin}") ==
             "run.yaml:3:17: 'spin' needs 'iterations'; add `iterations: …`");
  BOOST_TEST(task_error("{op: spin, iterations: -1}")
                 .starts_with(
                     "run.yaml:3:35: iterations of 't' is '-1'; write a whole number from 0 to "));
  BOOST_TEST(task_error("{op: scale, in: x, alpha: two}") ==
             "run.yaml:3:38: alpha of 't' is 'two'; write a number such as 0.5");
  BOOST_TEST(
      task_error("{op: scale, in: x, alpha: .inf}").starts_with("run.yaml:3:38: alpha of 't'"));
  BOOST_TEST(
      task_error("{op: scale, in: x, alpha: inf}").starts_with("run.yaml:3:38: alpha of 't'"));
  BOOST_TEST(task_error("{op: matmul, in: [x, x], transpose_a: yes}") ==
             "run.yaml:3:50: transpose_a of 't' is 'yes'; write true or false");
  BOOST_TEST(task_error("{op: sleep, duration: 10}")
                 .starts_with("run.yaml:3:34: duration of 't': '10' is not a duration: it has no "
                              "unit; units are ns, us, "));
}

BOOST_AUTO_TEST_CASE(shape_and_dtype_are_checked) {
  BOOST_TEST(task_error("{op: zeros}") == "run.yaml:3:12: 't' has no 'shape'; add `shape: …`");
  BOOST_TEST(task_error("{op: zeros, shape: []}")
                 .starts_with("run.yaml:3:31: shape of 't' is an empty list"));
  BOOST_TEST(task_error("{op: zeros, shape: 4}")
                 .starts_with("run.yaml:3:31: shape of 't' is '4'; write a list"));
  BOOST_TEST(
      task_error("{op: zeros, shape: [2, 0]}").starts_with("run.yaml:3:35: shape of 't' is '0'; "));
  BOOST_TEST(task_error("{op: zeros, shape: [1, 1, 1, 1, 1]}").starts_with("run.yaml:3:31: "));
  BOOST_TEST(task_error("{op: zeros, shape: [2000000, 2000000]}").starts_with("run.yaml:3:31: "));
  BOOST_TEST(task_error("{op: zeros, shape: [1000000000000, 1000000000000, 1000000000000]}")
                 .starts_with("run.yaml:3:31: "));
  BOOST_TEST(
      task_error("{op: zeros, shape: [9223372036854775808]}").starts_with("run.yaml:3:32: "));
  BOOST_TEST(task_error("{op: zeros, shape: [2], dtype: float16}") ==
             "run.yaml:3:43: dtype of 't' is 'float16'; did you mean 'float32'?");
}

BOOST_AUTO_TEST_CASE(lists_of_different_lengths_are_refused) {
  BOOST_TEST(
      error("tasks:\n  a: {op: relu, in: x, repeat: 2}\n  b: {op: relu, in: x, repeat: 3}\n  c: "
            "{op: add, in: [a, b]}\n")
          .starts_with("run.yaml:6:24: 'c' is a list of 2 by its input 'a', but 'b' is a list "
                       "of 3; lists are combined element by element"));
  BOOST_TEST(
      error("tasks:\n  a: {op: relu, in: x, repeat: 2}\n  b: {op: relu, in: a, repeat: 3}\n")
          .starts_with("run.yaml:5:21: 'b' is a list of 3 by its repeat, but 'a' is a list of "
                       "2; "));
}

BOOST_AUTO_TEST_CASE(elements_that_do_not_exist_are_refused) {
  BOOST_TEST(task_error("{op: relu, in: \"x[0]\"}") ==
             "run.yaml:3:27: 'x' is a single tensor, not a list; write 'x'");
  BOOST_TEST(error("tasks: {a: {op: relu, in: x, repeat: 3}, b: {op: relu, in: \"a[3]\"}}\n") ==
             "run.yaml:3:60: 'a' has no element 3; its elements are 0 to 2");
  for (const char* name :
       {"x[", "x[]", "x[-1]", "x[0", "x[0]]", "x[0][0]", "x[a]", "x[99999999999]"}) {
    BOOST_TEST(task_error("{op: relu, in: \"" + std::string(name) + "\"}") ==
               "run.yaml:3:27: in of 't' can't be read: '" + std::string(name) +
                   "'; name a task, or one element of it as in \"run[3]\"");
  }
}

BOOST_AUTO_TEST_CASE(an_element_within_brackets_without_quotes_is_advised_to_have_them) {
  BOOST_TEST(task_error("{op: relu, in: [x[0]]}").find("\"run[3]\" need quotes") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(numbers_of_ops_are_limited) {
  for (const char* repeat : {"0", "-1", "1000001", "1e6", "99999999999999999999"}) {
    BOOST_TEST(task_error("{op: relu, in: x, repeat: " + std::string(repeat) + "}") ==
               "run.yaml:3:38: repeat of 't' is '" + std::string(repeat) +
                   "'; write a whole number from 1 to 1000000");
  }
  std::string many = "tasks:\n";
  for (int i = 0; i < 20; ++i) {
    many += "  t" + std::to_string(i) + ": {op: relu, in: x, repeat: 1000000}\n";
  }
  BOOST_TEST(error(many) ==
             "run.yaml:23:3: with 't19' the file has 20000001 ops; the limit is 20000000");
}

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
  BOOST_TEST((run.graph.attrs(element(run, "g", 6)) == Attrs{Duration{1us}}));
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
             "run.yaml:6:3: with 't2' the patterns of the file read up to 1200000000 tensors; the "
             "limit is 1000000000");
}

BOOST_AUTO_TEST_CASE(a_point_is_no_task_of_its_own) {
  BOOST_TEST(task_error("{op: point}")
                 .starts_with("run.yaml:3:17: op of 't' is 'point', which is unknown; "));
}

BOOST_AUTO_TEST_SUITE_END()
