#include "core/graph/graph.hpp"

#include "core/base/random.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/small_graph.hpp"

#include <algorithm>
#include <set>
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

// x (2 by 3) ─── y, once by its spec and once by its template
BOOST_AUTO_TEST_CASE(an_op_of_a_template_equals_the_op_that_its_spec_gives) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, {}, {}, {DType::f32, {2, 3}});
  const OpKindId matmul = g.graph.kinds().find("matmul");
  const std::vector<OpId> inputs{x, x};
  const OpSpec spec{.kind = matmul,
                    .inputs = inputs,
                    .placement = on(DeviceId{1}),
                    .attrs = {{"transpose_a", false}, {"transpose_b", true}}};
  g.graph.begin_group("y", true);
  const OpId by_spec = g.graph.append(spec);
  const OpTemplateId op_template =
      g.graph.add_template({.kind = spec.kind, .placement = spec.placement, .attrs = spec.attrs});
  BOOST_TEST((op_template == g.graph.op_class(by_spec).op_template));
  const OpId by_form = g.graph.append(op_template, inputs);
  BOOST_TEST(by_form.value == by_spec.value + 1);
  BOOST_TEST(
      (std::vector(g.graph.inputs(by_form).begin(), g.graph.inputs(by_form).end()) == inputs));
  BOOST_TEST((g.graph.kind_id(by_form) == matmul));
  BOOST_TEST((g.graph.type(by_form) == TensorType{DType::f32, {2, 2}}));
  BOOST_TEST((g.graph.attrs(by_form) == spec.attrs));
  BOOST_TEST((g.graph.placement(by_form) == spec.placement));
  BOOST_TEST(g.graph.work(by_form).flops == 2.0 * 2 * 2 * 3);
  BOOST_TEST(g.graph.class_index(by_form) == g.graph.class_index(by_spec));
  BOOST_TEST(g.graph.name(by_form) == "y[1]");
}

BOOST_AUTO_TEST_CASE(templates_that_differ_in_anything_are_distinct) {
  SmallGraph g;
  g.graph.begin_group("templates");
  const OpTemplate work{.kind = g.graph.kinds().find("work"),
                        .placement = on(DeviceId{0}),
                        .attrs = {{"flops", 5.0}},
                        .declared = {DType::f64, {3}}};
  OpTemplate kind = work;
  kind.kind = g.graph.kinds().find("uniform");
  kind.attrs = {};
  OpTemplate place = work;
  place.placement = on(DeviceId{1});
  OpTemplate attrs = work;
  attrs.attrs = {{"flops", 6.0}};
  OpTemplate declared = work;
  declared.declared = {DType::f64, {4}};
  const OpTemplateId first = g.graph.add_template(work);
  for (const OpTemplate& other : {kind, place, attrs, declared}) {
    BOOST_TEST((g.graph.add_template(other) != first));
  }
  BOOST_TEST((g.graph.add_template(work) == first));
}

// f ══ sum    also f, f ── sum    d ══ sum (of other types)
BOOST_AUTO_TEST_CASE(a_class_is_a_template_with_inputs_of_certain_types) {
  SmallGraph g;
  const OpId f = g.op("f", "uniform", {}, {}, {}, {DType::f32, {2, 2}});
  const OpId also_f = g.op("also f", "uniform", {}, {}, {}, {DType::f32, {2, 2}});
  const OpId d = g.op("d", "uniform", {}, {}, {}, {DType::f64, {5}});
  g.graph.begin_group("sums");
  const OpTemplateId add = g.graph.add_template({.kind = g.graph.kinds().find("add")});
  const auto append = [&](std::vector<OpId> inputs) { return g.graph.append(add, inputs); };
  const OpId first = append({f, f});
  const OpId other = append({d, d});
  BOOST_TEST(g.graph.class_index(f) == g.graph.class_index(also_f));
  BOOST_TEST(g.graph.class_index(f) != g.graph.class_index(d));
  BOOST_TEST(g.graph.class_index(other) != g.graph.class_index(first));
  BOOST_TEST((g.graph.op_class(other).op_template == g.graph.op_class(first).op_template));
  BOOST_TEST((g.graph.type(first) == TensorType{DType::f32, {2, 2}}));
  BOOST_TEST((g.graph.type(other) == TensorType{DType::f64, {5}}));
  // The class doesn't depend on the op appended before.
  for (int round = 0; round < 3; ++round) {
    BOOST_TEST(g.graph.class_index(append({also_f, f})) == g.graph.class_index(first));
    BOOST_TEST(g.graph.class_index(append({d, d})) == g.graph.class_index(other));
  }
  BOOST_TEST(g.graph.classes().size() == 4U);  // f, d and their sums
  // Another number of inputs is another class, too.
  const OpTemplateId work = g.graph.add_template({.kind = g.graph.kinds().find("work"),
                                                  .attrs = {{"flops", 1.0}},
                                                  .declared = {DType::f64, {1}}});
  const OpId of_two = g.graph.append(work, std::vector{d, d});
  const OpId of_one = g.graph.append(work, std::vector{d});
  BOOST_TEST(g.graph.class_index(of_one) != g.graph.class_index(of_two));
}

// A class is found again however many others were added in between: else a graph that forgets its
// ops would grow by their classes.
BOOST_AUTO_TEST_CASE(a_template_of_very_many_classes_has_each_once) {
  SmallGraph g;
  const OpId x = g.work("x", 1);
  const OpTemplateId sum = g.graph.op_class(x).op_template;
  constexpr std::size_t classes = 60;  // by their number of inputs
  for (std::size_t i = 0; i < 5 * classes; ++i) {
    const OpId y = g.graph.append(sum, std::vector<OpId>(i * 7 % classes, x));
    BOOST_TEST_REQUIRE(g.graph.inputs(y).size() == i * 7 % classes);
    BOOST_TEST_REQUIRE(g.graph.op_class(y).input_types.size() == i * 7 % classes);
  }
  BOOST_TEST(g.graph.classes().size() == classes);
}

// The classes added last are compared first; older ones must be found, too.
BOOST_AUTO_TEST_CASE(a_template_with_inputs_of_very_many_types_keeps_them_apart) {
  SmallGraph g;
  constexpr std::size_t types = 40;
  for (std::size_t i = 0; i < types; ++i) {
    g.op("x", "uniform", {}, {}, {}, {DType::f64, {static_cast<std::int64_t>(i + 1)}});
  }
  g.graph.begin_group("relus");
  const OpTemplateId relu = g.graph.add_template({.kind = g.graph.kinds().find("relu")});
  for (std::size_t i = 0; i < 5 * types; ++i) {
    const OpId x = OpId::at(i * 7 % types);
    const OpId y = g.graph.append(relu, std::span(&x, 1));
    BOOST_TEST_REQUIRE((g.graph.type(y) == g.graph.type(x)));
    BOOST_TEST_REQUIRE((g.graph.inputs(y)[0] == x));
  }
}

BOOST_AUTO_TEST_CASE(a_copy_has_the_type_of_its_source) {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, {}, {}, {DType::f32, {5, 7}});
  const OpId y = g.copy("y", x, to(MemoryId{0}));
  BOOST_TEST((g.graph.type(y) == g.graph.type(x)));
  BOOST_TEST((g.graph.placement(y) == to(MemoryId{0})));
}

// a ─ b ─ c ══ d ─ e   (a and b are forgotten before e is appended)
BOOST_AUTO_TEST_CASE(ops_keep_their_ids_names_and_inputs_when_older_ones_are_forgotten) {
  SmallGraph g;
  const OpId a = g.work("a", 1);
  const OpId b = g.work("b", 2, {a});
  const OpId c = g.work("c", 3, {b}, on(DeviceId{1}));
  const OpId d = g.work("d", 4, {c, c});
  g.graph.forget_before(c);
  BOOST_TEST((g.graph.first() == c));
  BOOST_TEST(g.graph.size() == 4U);
  BOOST_TEST((g.graph.inputs(c)[0] == b));
  BOOST_TEST((g.graph.placement(c) == on(DeviceId{1})));
  BOOST_TEST(g.graph.inputs(d).size() == 2U);
  BOOST_TEST((g.graph.inputs(d)[1] == c));
  const OpId e = g.work("e", 5, {d});
  BOOST_TEST((e == OpId{4}));
  BOOST_TEST((g.graph.inputs(e)[0] == d));
  BOOST_TEST(g.graph.name(a) == "a");
  BOOST_TEST(g.graph.name(e) == "e");
  BOOST_TEST((g.graph.group_of(b) == g.graph.find_group("b")));
  // Forgotten already.
  g.graph.forget_before(a);
  BOOST_TEST((g.graph.first() == c));
}

BOOST_AUTO_TEST_CASE(a_graph_may_forget_all_its_ops_and_go_on) {
  SmallGraph g;
  for (int i = 0; i < 300; ++i) g.work("old", 1);
  g.graph.forget_before(OpId::at(300));
  BOOST_TEST((g.graph.first() == OpId{300}));
  const OpId x = g.work("x", 7);
  const OpId y = g.work("y", 7, {x});
  BOOST_TEST((x == OpId{300}));
  BOOST_TEST(g.graph.inputs(x).empty());
  BOOST_TEST((g.graph.inputs(y)[0] == x));
  BOOST_TEST(g.graph.attrs(y).get<double>("flops") == 7.0);
}

BOOST_AUTO_TEST_CASE(ops_like_forgotten_ones_have_the_same_class) {
  SmallGraph g;
  OpId last = g.work("x", 5);
  last = g.work("y", 5, {last});
  const std::uint32_t op_class = g.graph.class_index(last);
  for (int i = 0; i < 1000; ++i) {
    last = g.work("y", 5, {last});
    g.graph.forget_before(last);
    BOOST_TEST_REQUIRE(g.graph.class_index(last) == op_class);
  }
  BOOST_TEST(g.graph.classes().size() == 2U);
  BOOST_TEST(g.graph.types().size() == 1U);
}

// Measured by the addresses of the inputs.
BOOST_AUTO_TEST_CASE(inputs_take_the_place_of_forgotten_ones) {
  SmallGraph g;
  OpId last = g.work("x", 5);
  const OpTemplateId op_template = g.graph.op_class(last).op_template;
  std::set<const OpId*> places;
  for (int i = 0; i < 100'000; ++i) {
    last = g.graph.append(op_template, std::vector{last, last});
    places.insert(g.graph.inputs(last).data());
    if (i % 100 == 0) g.graph.forget_before(last);
  }
  BOOST_TEST(places.size() < 2'000U);
}

BOOST_AUTO_TEST_CASE(a_graph_that_forgets_is_the_one_that_does_not_as_far_as_it_remembers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      SmallGraph forgets;
      SmallGraph keeps;
      const std::uint64_t inputs_max = 1 + random.below(8);
      for (std::size_t op = 0; op < 2000; ++op) {
        std::vector<OpId> inputs;
        const std::size_t first = forgets.graph.first().index();
        if (first < op) {
          for (std::uint64_t i = random.below(inputs_max + 1); i > 0; --i) {
            inputs.push_back(OpId::at(first + random.below(op - first)));
          }
        }
        const double ns = 1 + static_cast<double>(random.below(3));
        const auto bytes = static_cast<std::int64_t>(8 + 8 * random.below(3));
        for (SmallGraph* g : {&forgets, &keeps}) g->work("op", ns, inputs, {}, bytes);
        if (random.below(50) != 0) continue;
        forgets.graph.forget_before(OpId::at(first + random.below(op + 2 - first)));
        BOOST_TEST_REQUIRE(forgets.graph.size() == keeps.graph.size());
        for (std::size_t i = forgets.graph.first().index(); i < keeps.graph.size(); ++i) {
          const OpId kept = OpId::at(i);
          const auto expected = keeps.graph.inputs(kept);
          BOOST_TEST_REQUIRE(std::ranges::equal(forgets.graph.inputs(kept), expected));
          BOOST_TEST_REQUIRE(forgets.graph.class_index(kept) == keeps.graph.class_index(kept));
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
