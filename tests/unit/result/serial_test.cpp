#include "core/result/serial.hpp"

#include "tests/support/expect_error.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>

namespace troupe {
using testing::expect_error;

BOOST_AUTO_TEST_SUITE(serial)
namespace {

struct Sample {
  Graph graph;

  OpId append(const char* group, const char* kind, const std::vector<OpId>& inputs,
              Attrs attrs = {}, TensorType declared = {}) {
    graph.begin_group(group);
    return graph.append({.kind = builtin_ops().find(kind),
                         .inputs = inputs,
                         .attrs = std::move(attrs),
                         .declared = declared});
  }
};

double first_value(std::span<const std::byte> bytes) {
  double value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

long peak_memory_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

//      x
//     / \ .
//   dbl  neg
//     \ / \ .
//     sum  last
BOOST_AUTO_TEST_CASE(ops_are_executed_in_order_and_every_result_is_shown_once) {
  Sample s;
  const TensorType type{DType::f64, {1000}};
  const OpId x = s.append("x", "uniform", {}, {{"seed", 1}}, type);
  const OpId dbl = s.append("dbl", "scale", {x}, {{"alpha", 2.0}});
  const OpId neg = s.append("neg", "scale", {x}, {{"alpha", -1.0}});
  const OpId sum = s.append("sum", "add", {dbl, neg});
  const OpId last = s.append("last", "relu", {neg});

  std::vector<OpId> seen;
  std::vector<double> firsts;
  run_serial(s.graph, {x, dbl, neg, sum, last}, 1, [&](OpId op, std::span<const std::byte> bytes) {
    seen.push_back(op);
    firsts.push_back(first_value(bytes));
    BOOST_TEST(bytes.size() == type.bytes());
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096 == 0U);
    return true;
  });
  BOOST_TEST((seen == std::vector{x, dbl, neg, sum, last}));
  BOOST_TEST(firsts[1] == 2 * firsts[0]);
  BOOST_TEST(firsts[2] == -firsts[0]);
  BOOST_TEST(firsts[3] == firsts[0]);
  BOOST_TEST(firsts[4] == 0);
}

// x → y → y → … : 8 MiB each, two of them alive at a time.
BOOST_AUTO_TEST_CASE(a_result_is_freed_after_its_last_reader) {
  Sample s;
  OpId last = s.append("x", "zeros", {}, {}, {DType::f64, {1 << 20}});
  OpRanges ops{last};
  for (int i = 0; i < 100; ++i) ops.append(last = s.append("y", "copy", {last}));
  const long before = peak_memory_kib();
  run_serial(s.graph, ops, 1, [](OpId, std::span<const std::byte>) { return true; });
  // Half of all results: AddressSanitizer keeps 256 MiB of freed memory.
  BOOST_TEST(peak_memory_kib() - before < 400 * 1024);
}

BOOST_AUTO_TEST_CASE(an_input_may_be_read_twice_by_one_op) {
  Sample s;
  const OpId x = s.append("x", "uniform", {}, {{"seed", 1}}, {DType::f64, {10}});
  const OpId square = s.append("square", "mul", {x, x});
  double before = 0;
  run_serial(s.graph, {x, square}, 1, [&](OpId op, std::span<const std::byte> bytes) {
    if (op == x) before = first_value(bytes);
    if (op == square) BOOST_TEST(first_value(bytes) == before * before);
    return true;
  });
}

BOOST_AUTO_TEST_CASE(a_part_of_a_graph_can_be_executed) {
  Sample s;
  const TensorType type{DType::f64, {10}};
  s.append("unused", "fail", {}, {{"after", Duration{0}}});
  const OpId x = s.append("x", "zeros", {}, {}, type);
  s.append("unused2", "relu", {x});
  const OpId y = s.append("y", "relu", {x});
  std::size_t n = 0;
  run_serial(s.graph, {x, y}, 1, [&](OpId, std::span<const std::byte>) {
    ++n;
    return true;
  });
  BOOST_TEST(n == 2U);
}

BOOST_AUTO_TEST_CASE(the_execution_ends_when_visit_returns_false) {
  Sample s;
  const OpId x = s.append("x", "zeros", {}, {}, {DType::f64, {10}});
  const OpId y = s.append("y", "fail", {x}, {{"after", Duration{0}}});
  std::size_t n = 0;
  run_serial(s.graph, {x, y}, 1, [&](OpId, std::span<const std::byte>) {
    ++n;
    return false;
  });
  BOOST_TEST(n == 1U);
}

BOOST_AUTO_TEST_CASE(a_kernel_that_fails_is_named) {
  Sample s;
  const OpId bad = s.append("bad", "fail", {}, {{"after", Duration{0}}});
  expect_error(ErrorKind::failed, "bad (fail), executed serially: it failed on purpose", [&] {
    run_serial(s.graph, {bad}, 1, [](OpId, std::span<const std::byte>) { return true; });
  });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_throws_no_exception_of_the_standard_library_fails_likewise) {
  OpRegistry ops = builtin_ops();
  ops.add({.name = "odd",
           .type =
               [](const OpSignature&) {
                 return TensorType{DType::f32, {1}};
               },
           .cpu = [](const CpuCall&) { throw 7; }});
  Graph graph(ops);
  graph.begin_group("bad");
  const OpId bad = graph.append({.kind = ops.find("odd"), .inputs = {}, .attrs = {}});
  expect_error(ErrorKind::failed, "bad (odd), executed serially: its kernel threw something", [&] {
    run_serial(graph, {bad}, 1, [](OpId, std::span<const std::byte>) { return true; });
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
