// Values that can't be, through the program: wrong counts, shapes that don't match, numbers out of
// range. A ^ marks where the message points.
#include "tests/support/refusal.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(bad_values)
namespace {

std::string with_link(std::string_view rest) {
  return with_tasks("  x: {op: sleep, duration: 1 ms}\n",
                    "    wire: {between: [host, far], " + std::string(rest) + "}");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_wrong_number_of_inputs_is_refused) {
  const std::string x = "  x: {op: uniform, shape: [2, 2], on: cpu0}\n";
  check_file_refused(with_tasks(x + "  y: {op: matmul, in: ^[x], on: cpu0}\n"),
                     {"'y'", "matmul", "2", "1"});
  check_file_refused(with_tasks(x + "  y: {op: relu, in: ^[x, x], on: cpu0}\n"),
                     {"'y'", "relu", "1", "2"});
  check_file_refused(with_tasks(x + "  y: {op: ^add, on: cpu0}\n"), {"'y'", "add", "2"});
  check_file_refused(with_tasks(x + "  y: {op: uniform, shape: [2], in: ^[x], on: cpu0}\n"),
                     {"'y'", "uniform"});
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_match_are_refused) {
  const std::string x =
      "  x: {op: uniform, shape: [2, 3], on: cpu0}\n"
      "  v: {op: uniform, shape: [2], on: cpu0}\n"
      "  d: {op: uniform, shape: [3, 2], dtype: float64, on: cpu0}\n";
  check_file_refused(with_tasks(x + "  y: {op: matmul, in: ^[x, x], on: cpu0}\n"),
                     {"'y'", "[2, 3]"});
  check_file_refused(with_tasks(x + "  y: {op: add, in: ^[x, v], on: cpu0}\n"),
                     {"'y'", "[2, 3]", "[2]"});
  check_file_refused(with_tasks(x + "  y: {op: matmul, in: ^[x, d], on: cpu0}\n"),
                     {"'y'", "float32", "float64"});
}

BOOST_AUTO_TEST_CASE(inputs_and_attributes_that_do_not_match_are_refused_with_the_types) {
  const std::string x =
      "  x: {op: uniform, shape: [2, 3], on: cpu0}\n"
      "  v: {op: uniform, shape: [2], on: cpu0}\n";
  const auto refused = [&](std::string_view task, const std::vector<std::string>& words) {
    check_file_refused(with_tasks(x + "  y: {op: " + std::string(task) + ", on: cpu0}\n"), words);
  };
  refused("add, in: ^[x, v]", {"'y'", "float32 [2, 3]", "float32 [2]", "extents of 1"});
  refused("sum, in: ^x, axis: 2", {"'y'", "float32 [2, 3]", "no axis 2"});
  refused("reshape, in: ^x, shape: [4]", {"'y'", "float32 [2, 3]", "6 elements"});
  refused("transpose, in: ^x, axes: [0, 0]", {"'y'", "float32 [2, 3]", "each of its axes once"});
  refused("transpose, in: x, axes: ^none", {"axes of 'y'", "list"});
  refused("concat, in: ^[x, v], axis: 0", {"'y'", "float32 [2, 3]", "float32 [2]"});
  refused("potrf, in: ^x", {"'y'", "float32 [2, 3]", "as many rows as columns"});
  refused("trsm, in: [x, x], side: ^top", {"side of 'y'", "left", "right"});
}

BOOST_AUTO_TEST_CASE(lists_of_different_lengths_are_refused) {
  check_file_refused(with_tasks("  a: {op: uniform, shape: [2], repeat: 3, on: cpu0}\n"
                                "  b: {op: uniform, shape: [2], repeat: 4, on: cpu0}\n"
                                "  c: {op: add, in: [a, ^b], on: cpu0}\n"),
                     {"'c'", "3", "4", "equally long"});
}

BOOST_AUTO_TEST_CASE(a_bandwidth_that_is_negative_or_zero_is_refused) {
  check_file_refused(both_modes, with_link("bandwidth: ^-1 GB/s"), {"bandwidth of link 'wire'"});
  check_file_refused(with_link("bandwidth: ^0 GB/s"), {"bandwidth of link 'wire'"});
  check_file_refused(with_link("bandwidth: 1 GB/s, backward_bandwidth: ^0 B/s"),
                     {"backward_bandwidth of link 'wire'"});
  check_file_refused(with_link("bandwidth: ^nan GB/s"), {"bandwidth of link 'wire'"});
  check_file_refused(with_link("bandwidth: ^1e999 GB/s"), {"bandwidth of link 'wire'"});
  check_file_refused(with_link("bandwidth: 1 GB/s, latency: ^-1 us"), {"latency of link 'wire'"});
}

BOOST_AUTO_TEST_CASE(a_number_beyond_a_double_is_told_apart_from_one_too_close_to_zero) {
  check_file_refused(with_link("bandwidth: ^1e400 GB/s"), {"too large"});
  check_file_refused(with_link("bandwidth: ^1e-400 GB/s"), {"too close to zero"});
  check_file_refused(with_tasks("  x: {op: sleep, duration: ^1e-400 ms}\n"),
                     {"duration of 'x'", "too close to zero"});
  const auto alpha = [](std::string_view value) {
    return with_tasks(
        "  x: {op: uniform, shape: [2], on: cpu0}\n  y: {op: scale, in: x, "
        "alpha: ^" +
        std::string(value) + ", on: cpu0}\n");
  };
  check_file_refused(alpha("1e-400"), {"alpha of 'y' is '1e-400'", "close to zero"});
  check_file_refused(alpha("-1e400"), {"alpha of 'y' is '-1e400'", "too large"});
}

BOOST_AUTO_TEST_CASE(a_number_with_separators_is_refused) {
  check_file_refused(with_link("bandwidth: ^'1,5 GB/s'"), {"1,5 GB/s", "separators"});
}

BOOST_AUTO_TEST_CASE(a_repeat_out_of_range_is_refused) {
  const auto repeat = [](std::string_view value) {
    return with_tasks("  x: {op: zeros, shape: [2], repeat: ^" + std::string(value) +
                      ", on: cpu0}\n");
  };
  for (const char* value : {"0", "-1", "1000001", "9223372036854775808", "1e3", "many"}) {
    check_file_refused(repeat(value), {"repeat of 'x'", "1 to 1000000"});
  }
}

BOOST_AUTO_TEST_CASE(a_shape_out_of_range_is_refused) {
  const auto shape = [](std::string_view value) {
    return with_tasks("  x: {op: zeros, shape: " + std::string(value) + ", on: cpu0}\n");
  };
  check_file_refused(shape("[2, ^0]"), {"shape of 'x'"});
  check_file_refused(shape("[^-2]"), {"shape of 'x'"});
  check_file_refused(shape("[^99999999999999999999]"), {"shape of 'x'"});
  check_file_refused(shape("^[]"), {"shape of 'x'", "[6000, 6000]"});
  check_file_refused(shape("^[1, 2, 3, 4, 5, 6, 7, 8, 9]"), {"at most 8"});
  // Each extent is fine, and so would their product be after an overflow.
  check_file_refused(shape("^[4294967296, 4294967296]"), {"elements"});
  check_file_refused(shape("^[1099511627776, 1099511627776, 1099511627776]"), {"elements"});
}

BOOST_AUTO_TEST_CASE(more_ops_than_a_file_may_have_are_refused) {
  check_file_refused(
      with_tasks("  x: {pattern: stencil_1d, width: 5000, steps: ^5000, kernel: spin, "
                 "iterations: 1, on: cpu0}\n"),
      {"25000000 ops", "limit is 20000000"});
  std::string tasks;
  for (int i = 0; i < 21; ++i) {
    tasks += i == 20 ? "  ^" : "  ";
    tasks += "t" + std::to_string(i) + ": {op: zeros, shape: [1], repeat: 1000000, on: cpu0}\n";
  }
  check_file_refused(with_tasks(tasks), {"21000000 ops", "limit is 20000000"});
}

BOOST_AUTO_TEST_CASE(a_scenario_that_takes_longer_than_a_century_is_refused) {
  check_file_refused(both_modes,
                     with_tasks("  x: {op: sleep, duration: 900000000 s, repeat: 20, on: cpu0}\n"
                                "scenarios: {^a: [x]}\n"),
                     {"'a' would take longer than 100 years", "repeat"});
}

BOOST_AUTO_TEST_CASE(a_scenario_that_can_not_be_is_refused) {
  const std::string tasks =
      "  x: {op: uniform, shape: [2], on: cpu0}\n"
      "  y: {op: relu, in: x, on: cpu0}\n";
  check_file_refused(both_modes, with_tasks(tasks + "scenarios: {a: [^y, wait, x]}\n"),
                     {"'y' needs 'x'", "list 'x' before"});
  check_file_refused(with_tasks(tasks + "scenarios: {a: [x, y, ^x]}\n"),
                     {"'x' is listed twice", "remove one"});
  check_file_refused(with_tasks(tasks + "scenarios: {a: ^[wait]}\n"), {"lists no task"});
}

BOOST_AUTO_TEST_SUITE_END()
