#include "core/graph/graph.hpp"

#include "tests/support/expect_error.hpp"
#include "tests/support/small_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(graph)
namespace {

using testing::expect_error;
using testing::on;
using testing::SmallGraph;
using testing::to;

// x ─┬─ y ─┐
//    └─────┴─ z
BOOST_AUTO_TEST_CASE(an_op_knows_its_inputs_type_and_placement) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(DeviceId{1}), {}, {DType::f32, {4, 6}});
  const OpId y = g.op("y", "matmul", {x, x}, {}, {{"transpose_b", true}});
  const OpId z = g.op("z", "matmul", {y, x});
  BOOST_TEST(g.graph.size() == 3U);
  BOOST_TEST(g.graph.inputs(x).empty());
  BOOST_TEST(
      (std::vector(g.graph.inputs(z).begin(), g.graph.inputs(z).end()) == std::vector{y, x}));
  BOOST_TEST((g.graph.type(y) == TensorType{DType::f32, {4, 4}}));
  BOOST_TEST((g.graph.type(z) == TensorType{DType::f32, {4, 6}}));
  BOOST_TEST((g.graph.placement(x) == on(DeviceId{1})));
  BOOST_TEST((g.graph.placement(y) == Placement{}));
  BOOST_TEST(g.graph.kind(z).name == "matmul");
  BOOST_TEST(g.graph.work(y).flops == 2.0 * 4 * 4 * 6);
}

BOOST_AUTO_TEST_CASE(a_shape_rule_or_a_cost_that_throws_what_is_no_exception_is_named) {
  OpRegistry ops;
  ops.add({.name = "bad_rule", .type = [](const OpSignature&) -> TensorType { throw 42; }});
  ops.add({.name = "bad_cost",
           .type = [](const OpSignature&) { return TensorType{}; },
           .work = [](const OpSignature&, const TensorType&) -> Work { throw 42; }});
  Graph graph(ops);
  graph.begin_group("g");
  for (const char* name : {"bad_rule", "bad_cost"}) {
    expect_error(ErrorKind::usage, "of '" + std::string(name) + "' threw something that is no",
                 [&] { graph.append({.kind = ops.find(name)}); });
  }
}

// x ── y ── z becomes x, y ── z
BOOST_AUTO_TEST_CASE(a_copy_has_sources_in_the_place_of_ops_and_all_else_as_before) {
  SmallGraph g;
  const TensorType type{DType::f32, {4, 6}};
  const OpId x = g.op("x", "uniform", {}, {}, {}, type);
  const OpId y = g.op("y", "relu", {x}, on(DeviceId{1}));
  const OpId z = g.op("z", "add", {y, y});
  const OpTemplate source{.kind = g.graph.kinds().find("uniform"), .declared = type};
  const Graph copy = g.graph.with_sources({{{y, source}}});
  BOOST_TEST(copy.inputs(y).empty());
  BOOST_TEST(copy.kind(y).name == "uniform");
  BOOST_TEST((copy.placement(y) == Placement{}));
  BOOST_TEST((copy.type(y) == type));
  BOOST_TEST(copy.name(y) == "y");
  BOOST_TEST(copy.size() == 3U);
  BOOST_TEST(copy.class_index(x) == g.graph.class_index(x));
  BOOST_TEST((std::vector(copy.inputs(z).begin(), copy.inputs(z).end()) == std::vector{y, y}));
  BOOST_TEST(g.graph.kind(y).name == "relu");
}

// x ── half ─┬─ sum
//            └─ twice
BOOST_AUTO_TEST_CASE(further_outputs_come_right_behind_their_op_and_are_named_after_it) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, {}, {}, {DType::f64, {4}});
  const OpId half = g.op("half", "half", {x}, on(DeviceId{1}));
  BOOST_TEST(g.graph.size() == 4U);
  const OpId sum{half.value + 1};
  const OpId twice{half.value + 2};
  BOOST_TEST(g.graph.name(half) == "half");
  BOOST_TEST(g.graph.name(sum) == "half.sum");
  BOOST_TEST(g.graph.name(twice) == "half.twice");
  BOOST_TEST(to_string(g.graph.type(sum)) == "float64 [1]");
  BOOST_TEST(to_string(g.graph.type(twice)) == "float64 [4]");
  for (const OpId output : {sum, twice}) {
    BOOST_TEST((g.graph.maker(output) == half));
    BOOST_TEST(g.graph.inputs(output).size() == 1U);
    BOOST_TEST((g.graph.inputs(output)[0] == half));
    BOOST_TEST((g.graph.placement(output) == on(DeviceId{1})));
    BOOST_TEST(g.graph.work(output).bytes == 0);
  }
  BOOST_TEST((g.graph.maker(half) == half));
  // x is read; x / 2, the sum and 2x are written.
  BOOST_TEST(g.graph.work(half).bytes == 32 + 32 + 8 + 32);
}

BOOST_AUTO_TEST_CASE(ops_of_several_outputs_are_counted_by_their_first) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, {}, {}, {DType::f64, {4}});
  g.graph.begin_group("half", true);
  const OpKindId kind = g.graph.kinds().find("half");
  OpId last;
  for (int i = 0; i < 3; ++i) last = g.graph.append({.kind = kind, .inputs = {{x}}});
  const GroupId group = g.graph.find_group("half");
  BOOST_TEST((g.graph.op_in_group(group, 2) == last));
  BOOST_TEST(g.graph.name(last) == "half[2]");
  BOOST_TEST(g.graph.name(g.graph.op_in_group(group, 1, 2)) == "half.twice[1]");
  BOOST_TEST(g.graph.index_in_group(g.graph.op_in_group(group, 1, 2)) == 1U);

  const OpKindId relu = g.graph.kinds().find("relu");
  expect_error(ErrorKind::usage,
               "each op of group 'half' makes 3 tensors, and 'relu' makes 1 tensor; begin another",
               [&] { g.graph.append({.kind = relu, .inputs = {{x}}}); });
  g.op("one", "relu", {x});
  expect_error(ErrorKind::usage, "makes 1 tensor, and 'half' makes 3 tensors",
               [&] { g.graph.append({.kind = kind, .inputs = {{x}}}); });

  g.graph.begin_group("");
  g.graph.append({.kind = relu, .inputs = {{x}}});
  const OpId unnamed = g.graph.append({.kind = kind, .inputs = {{x}}});
  BOOST_TEST(g.graph.name(unnamed) == "half[1]");
  BOOST_TEST(g.graph.name(OpId{unnamed.value + 1}) == "half.sum[1]");
}

BOOST_AUTO_TEST_CASE(integers_are_refused_by_kinds_that_take_only_floating_point_numbers) {
  SmallGraph g;
  const OpId i = g.op("i", "zeros", {}, {}, {}, {DType::i32, {3, 3}});
  const OpId x = g.op("x", "zeros", {}, {}, {}, {DType::f32, {3, 3}});
  expect_error(ErrorKind::usage,
               "'matmul' takes tensors of float32 and float64, and float32 [3, 3], int32 [3, 3] "
               "are given; give it tensors of one of these types",
               [&] {
                 g.op("y", "matmul", {x, i});
               });
  expect_error(ErrorKind::usage, "and int32 [3, 3] is given", [&] { g.op("y", "relu", {i}); });
  expect_error(ErrorKind::usage,
               "'uniform' can't make int64, only float32 and float64; declare one of these", [&] {
                 g.op("y", "uniform", {}, {}, {}, {DType::i64, {3}});
               });
  expect_error(ErrorKind::usage, "the inputs are int32 [3, 3] and float32 [3, 3]", [&] {
    g.op("y", "add", {i, x});
  });
  BOOST_TEST(to_string(g.graph.type(g.op("y", "mul", {i, i}))) == "int32 [3, 3]");
  BOOST_TEST(to_string(g.graph.type(g.op("y", "sleep", {i}, {}, {{"duration", Duration{1}}}))) ==
             "float64 [1]");
}

BOOST_AUTO_TEST_CASE(attributes_that_are_not_given_take_their_fallback) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, {}, {}, {DType::f64, {3}});
  BOOST_TEST(g.graph.attrs(x).get<std::int64_t>("seed") == 0);
}

BOOST_AUTO_TEST_CASE(equal_types_and_attributes_are_stored_once) {
  SmallGraph g;
  const OpId first = g.work("first", 5);
  const OpId second = g.work("second", 7);
  const OpId third = g.work("third", 5);
  BOOST_TEST(g.graph.attrs_index(first) == g.graph.attrs_index(third));
  BOOST_TEST(g.graph.attrs_index(first) != g.graph.attrs_index(second));
  BOOST_TEST(g.graph.type_index(first) == g.graph.type_index(second));
  BOOST_TEST(g.graph.types().size() == 1U);
}

// Only the last few attributes and types are compared for reuse; older ones must stay correct, too.
BOOST_AUTO_TEST_CASE(many_distinct_attributes_and_types_stay_apart) {
  SmallGraph g;
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i <= 50; ++i) g.work("op", i, {}, {}, 8 * i);
  }
  for (std::size_t i = 0; i < g.graph.size(); ++i) {
    const auto wanted = static_cast<std::int64_t>(i % 50 + 1);
    BOOST_TEST(g.graph.attrs(OpId::at(i)).get<double>("flops") == static_cast<double>(wanted));
    BOOST_TEST(g.graph.type(OpId::at(i)).bytes() == static_cast<std::uint64_t>(8 * wanted));
  }
}

BOOST_AUTO_TEST_CASE(an_op_may_have_many_inputs) {
  SmallGraph g;
  std::vector<OpId> all;
  for (int i = 0; i < 40; ++i) all.push_back(g.work("part", 1));
  const OpId sum = g.op("sum", "spin", all, {}, {{"iterations", 3}});
  BOOST_TEST(g.graph.inputs(sum).size() == 40U);
  BOOST_TEST(g.graph.work(sum).bytes > 0);
}

BOOST_AUTO_TEST_CASE(groups_name_their_ops) {
  SmallGraph g;
  const OpId x = g.work("x", 1);
  const GroupId empty = g.graph.begin_group("empty", true);
  const GroupId run = g.graph.begin_group("run", true);
  OpId last;
  for (int i = 0; i < 3; ++i) {
    last = g.graph.append({.kind = g.graph.kinds().find("copy"), .inputs = std::span(&x, 1)});
  }
  BOOST_TEST(g.graph.name(x) == "x");
  BOOST_TEST(g.graph.name(last) == "run[2]");
  BOOST_TEST((g.graph.group_of(last) == run));
  BOOST_TEST((g.graph.group_of(x) == GroupId{0}));
  BOOST_TEST((g.graph.find_group("run") == run));
  BOOST_TEST(!g.graph.find_group("walk"));
  BOOST_TEST(g.graph.group(run).count == 3U);
  BOOST_TEST(g.graph.group(empty).count == 0U);
}

BOOST_AUTO_TEST_CASE(an_op_that_is_refused_names_the_place_of_its_group_and_leaves_no_trace) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, {}, {}, {DType::f32, {2, 3}});
  const GroupId bad = g.graph.begin_group("bad", false, {"run.yaml", 7, 3});
  const std::vector<OpId> inputs{x, x};
  const auto append = [&](std::string_view kind, std::span<const OpId> in, Attrs attrs = {}) {
    g.graph.append({.kind = g.graph.kinds().find(kind), .inputs = in, .attrs = std::move(attrs)});
  };
  expect_error(ErrorKind::usage, "run.yaml:7:3", [&] { append("matmul", inputs); });
  expect_error(ErrorKind::usage, "'matmul' takes 2 inputs, and 1 is given",
               [&] { append("matmul", std::span(inputs).first(1)); });
  expect_error(ErrorKind::usage, "'scale' takes 1 input, and 2 are given", [&] {
    append("scale", inputs, {{"alpha", 1.0}});
  });
  expect_error(ErrorKind::usage, "'spin' takes 0 to 64 inputs, and 65 are given", [&] {
    append("spin", std::vector<OpId>(65, x), {{"iterations", 1}});
  });
  expect_error(ErrorKind::usage, "'scale' needs 'alpha'",
               [&] { append("scale", std::span(inputs).first(1)); });
  expect_error(ErrorKind::usage, "'iterations' of 'spin' is -1", [&] {
    append("spin", {}, {{"iterations", -1}});
  });
  expect_error(ErrorKind::usage, "it goes from 0 to 1000000000000", [&] {
    append("spin", {}, {{"iterations", 2'000'000'000'000}});
  });
  BOOST_TEST(g.graph.size() == 1U);
  BOOST_TEST(g.graph.group(bad).count == 0U);
}

// x ─┬─ y[0] … y[99]
//    └─ (twice each)
BOOST_AUTO_TEST_CASE(an_op_without_a_group_a_kind_or_an_input_is_refused) {
  Graph graph;
  const OpTemplate relu{.kind = graph.kinds().find("relu")};
  expect_error(ErrorKind::usage, "no group is open", [&] { graph.add_template(relu); });
  expect_error(ErrorKind::usage, "no group is open", [&] { graph.append({.kind = relu.kind}); });
  graph.begin_group("x", false, {.file = "run.yaml", .line = 7, .column = 3});
  const OpKindId none = graph.kinds().find("rellu");
  expect_error(ErrorKind::usage, "run.yaml:7:3: an op has a kind that isn't in",
               [&] { graph.append({.kind = none}); });
  expect_error(ErrorKind::usage, "isn't in the graph's registry",
               [&] { graph.add_template({.kind = OpKindId::at(graph.kinds().size())}); });
  const OpId x =
      graph.append({.kind = graph.kinds().find("uniform"), .declared = {DType::f32, {2}}});
  const OpId inputs[] = {OpId{x.value + 1}, OpId{}};
  for (const OpId& input : inputs) {
    expect_error(ErrorKind::usage, "run.yaml:7:3: an op has an input that isn't an op", [&] {
      graph.append({.kind = relu.kind, .inputs = {&input, 1}});
    });
  }
  BOOST_TEST(graph.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_op_may_be_given_the_inputs_of_another_as_its_own) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, {}, {}, {DType::f64, {4}});
  OpId last = g.op("y", "add", {x, x});
  for (int i = 0; i < 100; ++i) {
    last = g.graph.append({.kind = g.graph.kinds().find("add"), .inputs = g.graph.inputs(last)});
    BOOST_TEST_REQUIRE(g.graph.inputs(last).size() == 2U);
    for (const OpId input : g.graph.inputs(last)) BOOST_TEST_REQUIRE((input == x));
  }
}

BOOST_AUTO_TEST_CASE(a_copy_has_the_type_of_its_source) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, {}, {}, {DType::f32, {5, 7}});
  const OpId y = g.copy("y", x, to(MemoryId{0}));
  BOOST_TEST((g.graph.type(y) == g.graph.type(x)));
  BOOST_TEST((g.graph.placement(y) == to(MemoryId{0})));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
