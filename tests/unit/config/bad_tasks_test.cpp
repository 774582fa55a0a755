// Tasks of run files that are refused, and what is said of them.
#include "tests/unit/config/task_files.hpp"

#include <string>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(bad_tasks)

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
      task_error("{op: square, in: x}").ends_with("; or give --ops the library that has it"));
  BOOST_TEST(
      task_error("{op: relu, in: y}")
          .starts_with("run.yaml:3:27: 't' reads 'y', which is no tensor or task; one of: x, t"));
  BOOST_TEST(
      error("tensors2: {}\n")
          .starts_with("run.yaml:3:1: a run file has no key 'tensors2'; did you mean 'tensors'?"));
  BOOST_TEST(task_error("{op: relu, in: x, on: cpu2}") ==
             "run.yaml:3:34: the machine 'run' has no device 'cpu2'; did you mean 'cpu0'?");
  BOOST_TEST(task_error("{op: relu, in: x, on: n1.cpu0}").find("; nodes, such as n1, come with") !=
             std::string::npos);
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
  BOOST_TEST(task_error("{op: constant, shape: [1], dtype: int64, value: 9007199254740993}")
                 .ends_with("'value' of 'constant' is 9007199254740993; it must be a number that "
                            "float64 holds exactly"));
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

BOOST_AUTO_TEST_CASE(lists_and_words_are_checked) {
  BOOST_TEST(task_error("{op: transpose, in: x, axes: 1}") ==
             "run.yaml:3:41: axes of 't' is '1'; write a list, [a, b, …]");
  BOOST_TEST(
      task_error("{op: transpose, in: x, axes: [1, a]}")
          .starts_with("run.yaml:3:45: axes of 't' is 'a'; write a whole number from -8 to "));
  BOOST_TEST(task_error("{op: trsm, in: [x, x], side: rigth}") ==
             "run.yaml:3:41: side of 't' is 'rigth'; did you mean 'right'?");
  BOOST_TEST(task_error("{op: sum, in: x, axis: -9}")
                 .starts_with("run.yaml:3:35: axis of 't' is '-9'; write a whole number from -"));
}

BOOST_AUTO_TEST_CASE(shape_and_dtype_are_checked) {
  BOOST_TEST(task_error("{op: zeros}") == "run.yaml:3:12: 't' has no 'shape'; add `shape: …`");
  BOOST_TEST(task_error("{op: zeros, shape: []}")
                 .starts_with("run.yaml:3:31: shape of 't' is an empty list"));
  BOOST_TEST(task_error("{op: zeros, shape: 4}")
                 .starts_with("run.yaml:3:31: shape of 't' is '4'; write a list"));
  BOOST_TEST(
      task_error("{op: zeros, shape: [2, 0]}").starts_with("run.yaml:3:35: shape of 't' is '0'; "));
  BOOST_TEST(
      task_error("{op: zeros, shape: [1, 1, 1, 1, 1, 1, 1, 1, 1]}").starts_with("run.yaml:3:31: "));
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

BOOST_AUTO_TEST_CASE(more_elements_than_an_op_takes_are_refused) {
  BOOST_TEST(error("tasks: {a: {op: relu, in: x, repeat: 3}, b: {op: add, in: \"a[*]\"}}\n")
                 .starts_with("run.yaml:3:59: 'b': 'add' takes 2 inputs, and 3 are given"));
  BOOST_TEST(error("tasks:\n"
                   "  a: {op: relu, in: x, repeat: 1000000}\n"
                   "  b: {op: concat, in: \"a[*]\", axis: 0, repeat: 1001}\n")
                 .starts_with("run.yaml:5:3: with 'b' patterns and [*] give the ops of the file"));
}

BOOST_AUTO_TEST_CASE(elements_that_do_not_exist_are_refused) {
  BOOST_TEST(task_error("{op: relu, in: \"x[0]\"}") ==
             "run.yaml:3:27: 'x' is a single tensor, not a list; write 'x'");
  BOOST_TEST(error("tasks: {a: {op: relu, in: x, repeat: 3}, b: {op: relu, in: \"a[3]\"}}\n") ==
             "run.yaml:3:60: 'a' has no element 3; its elements are 0 to 2");
  BOOST_TEST(task_error("{op: concat, in: \"x[*]\", axis: 0}") ==
             "run.yaml:3:29: 'x' is a single tensor, not a list; write 'x'");
  for (const char* name : {"x[", "x[]", "x[-1]", "x[0", "x[0]]", "x[0][0]", "x[a]",
                           "x[99999999999]", "x[*", "x[**]"}) {
    BOOST_TEST(task_error("{op: relu, in: \"" + std::string(name) + "\"}") ==
               "run.yaml:3:27: in of 't' can't be read: '" + std::string(name) +
                   "'; name a task, one element of it as in \"run[3]\", or all as in \"run[*]\"");
  }
}

BOOST_AUTO_TEST_CASE(a_name_with_brackets_or_braces_within_such_is_advised_to_have_quotes) {
  const std::string advice = "names such as \"run[3]\" or \"y-{i}.npy\" need quotes";
  for (const char* task : {"{op: relu, in: [x[0]]}", "{op: relu, in: x-{i}}"}) {
    BOOST_TEST(task_error(task).find(advice) != std::string::npos);
  }
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

BOOST_AUTO_TEST_SUITE_END()
