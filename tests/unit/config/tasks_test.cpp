// `tensors` and `tasks` of run files: what is made of them.
#include "core/patterns/pattern_ops.hpp"
#include "tests/unit/config/task_files.hpp"

#include <array>
#include <string>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(tasks)

BOOST_AUTO_TEST_CASE(a_task_is_one_op_with_what_is_written) {
  const RunFile run = load("tasks: {t: {op: matmul, in: [x, x], transpose_b: true, on: cpu1}}\n");
  const Graph& graph = run.graph;
  const OpId t = element(run, "t");
  BOOST_TEST(graph.name(t) == "t");
  BOOST_TEST(graph.kind(t).name == "matmul");
  BOOST_TEST(input_names(graph, t) == (Names{"x", "x"}));
  BOOST_TEST((graph.attrs(t) == Attrs{{"transpose_a", false}, {"transpose_b", true}}));
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
      "  a: {op: axpy, in: [x, x], alpha: 0.5}\n"
      "  b: {op: spin, iterations: 7}\n"
      "  c: {op: sleep, in: [a, b], duration: 10 ms}\n"
      "  d: {op: uniform, shape: [2, 3], dtype: float64, seed: 9}\n");
  BOOST_TEST((run.graph.attrs(element(run, "a")) == Attrs{{"alpha", 0.5}}));
  BOOST_TEST((run.graph.attrs(element(run, "b")) == Attrs{{"iterations", 7}}));
  BOOST_TEST((run.graph.attrs(element(run, "c")) == Attrs{{"duration", Duration{10ms}}}));
  BOOST_TEST((run.graph.attrs(element(run, "d")) == Attrs{{"seed", 9}}));
  BOOST_TEST((run.graph.type(element(run, "d")) == TensorType{DType::f64, Shape{2, 3}}));
  BOOST_TEST((run.graph.attrs(element(run, "x")) == Attrs{{"seed", 0}}));
}

BOOST_AUTO_TEST_CASE(an_attribute_may_be_a_list_or_a_word) {
  const RunFile run = load(
      "tasks:\n"
      "  a: {op: transpose, in: x, axes: [1, 0]}\n"
      "  b: {op: transpose, in: x}\n"
      "  c: {op: reshape, in: x, shape: [2, -1]}\n"
      "  d: {op: trsm, in: [x, x], side: right}\n"
      "  e: {op: cast, in: x, dtype: int64}\n");
  BOOST_TEST((run.graph.attrs(element(run, "a")) == Attrs{{"axes", Integers{1, 0}}}));
  BOOST_TEST((run.graph.attrs(element(run, "b")) == Attrs{{"axes", Integers{}}}));
  BOOST_TEST((run.graph.type(element(run, "c")).shape == Shape{2, 8}));
  BOOST_TEST(run.graph.attrs(element(run, "d")).get<std::string>("side") == "right");
  BOOST_TEST((run.graph.type(element(run, "e")) == TensorType{DType::i64, Shape{4, 4}}));
}

BOOST_AUTO_TEST_CASE(a_list_may_be_of_numbers_or_words) {
  OpRegistry ops = pattern_ops();
  ops.add({.name = "lists",
           .inputs = 1,
           .attrs = {{.name = "weights", .fallback = Numbers{}},
                     {.name = "modes", .fallback = Texts{}, .choices = {"add", "mul"}}}});
  const TemporaryFiles files;
  const auto load_task = [&](std::string_view task) {
    return load_run_file(files.write("run.yaml", with_head(task)), ops);
  };
  const RunFile run =
      load_task("tasks: {t: {op: lists, in: x, weights: [0.5, 2], modes: [mul, add]}}\n");
  const Attrs& attrs = run.graph.attrs(element(run, "t"));
  BOOST_TEST((attrs.get<Numbers>("weights") == Numbers{0.5, 2}));
  BOOST_TEST((attrs.get<Texts>("modes") == Texts{"mul", "add"}));
  BOOST_TEST(files.error_of([&] { load_task("tasks: {t: {op: lists, in: x, modes: [mull]}}\n"); })
                 .find("did you mean 'mul'?") != std::string::npos);
  BOOST_TEST(files
                 .error_of([&] {
                   load_task("tasks: {t: {op: lists, in: x, weights: [1, 9007199254740993]}}\n");
                 })
                 .ends_with("weights of 't' has 9007199254740993; it must be a number that float64 "
                            "holds exactly"));
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

BOOST_AUTO_TEST_CASE(all_elements_of_a_list_may_be_inputs_of_one_op) {
  const RunFile run = load(
      "tasks:\n"
      "  a: {op: relu, in: x, repeat: 3}\n"
      "  all: {op: concat, in: [x, \"a[*]\", \"a[1]\"], axis: 0}\n"
      "  each: {op: concat, in: [\"a[*]\", a], axis: 0}\n");
  BOOST_TEST(input_names(run.graph, element(run, "all")) ==
             (Names{"x", "a[0]", "a[1]", "a[2]", "a[1]"}));
  BOOST_TEST(run.graph.group(run.graph.find_group("all")).indexed == false);
  BOOST_TEST(run.graph.type(element(run, "all")).shape[0] == 20);
  BOOST_TEST(input_names(run.graph, element(run, "each", 2)) ==
             (Names{"a[0]", "a[1]", "a[2]", "a[2]"}));
  BOOST_TEST(run.graph.group(run.graph.find_group("each")).count == 3U);
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
    const Attrs expected = {{"seed", static_cast<std::int64_t>(5 + i)}};
    BOOST_TEST((run.graph.attrs(element(run, "a", i)) == expected));
  }
  BOOST_TEST(task_error("{op: uniform, shape: [2], seed: 1099511627775, repeat: 2}") == "");
  BOOST_TEST(task_error("{op: uniform, shape: [2], seed: 1099511627775, repeat: 3}") ==
             "run.yaml:3:44: seed of 't' counts up beyond 1099511627776; start lower");
}

BOOST_AUTO_TEST_CASE(a_seed_that_is_not_given_counts_up_no_further_than_its_limit) {
  OpRegistry ops = pattern_ops();
  ops.add({.name = "noise",
           .attrs = {{.name = "seed", .fallback = std::int64_t{0}, .value_max = 2}},
           .declares_type = true});
  const TemporaryFiles files;
  const auto error_of_list = [&](int count) {
    return files.error_of([&] {
      load_run_file(
          files.write("run.yaml",
                      with_head(fmt::format("tasks: {{t: {{op: noise, shape: [2], repeat: {}}}}}\n",
                                            count))),
          ops);
    });
  };
  BOOST_TEST(error_of_list(3) == "");
  BOOST_TEST(error_of_list(4) == "run.yaml:3:9: seed of 't' counts up beyond 2; start lower");
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

BOOST_AUTO_TEST_SUITE_END()
