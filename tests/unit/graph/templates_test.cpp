#include "core/graph/graph.hpp"
#include "tests/support/small_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(templates)
namespace {

using testing::on;
using testing::SmallGraph;

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

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
