#include "core/ops/registry.hpp"

#include "core/ops/builtin.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/op_fixture.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {

BOOST_AUTO_TEST_SUITE(op_registry)

BOOST_AUTO_TEST_CASE(every_builtin_kind_is_found_by_its_name) {
  for (OpKind (*const make)() : builtin_kinds) {
    const std::string_view name = make().name;
    const OpKindId id = builtin_ops().find(name);
    BOOST_REQUIRE_MESSAGE(id, name);
    BOOST_TEST(builtin_ops()[id].name == name);
  }
  BOOST_TEST(builtin_ops().size() == builtin_kinds.size());
  BOOST_TEST(builtin_ops().names().size() == builtin_kinds.size());
}

BOOST_AUTO_TEST_CASE(every_builtin_kind_has_a_summary_and_a_cpu_kernel) {
  for (std::size_t i = 0; i < builtin_ops().size(); ++i) {
    const OpKind& kind = builtin_ops()[OpKindId::at(i)];
    BOOST_TEST(!kind.summary.empty(), kind.name);
    BOOST_TEST((kind.cpu != nullptr), kind.name);
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_kind_is_none) {
  BOOST_TEST(!builtin_ops().find("matmull"));
  BOOST_TEST(!builtin_ops().find(""));
}

BOOST_AUTO_TEST_CASE(a_copy_of_the_builtin_kinds_takes_kinds_of_ones_own) {
  OpRegistry ops = builtin_ops();
  OpKind mine = ops[ops.find("relu")];
  mine.name = "my_relu";
  const OpKindId id = ops.add(mine);
  BOOST_TEST((ops.find("my_relu") == id));
  BOOST_TEST(!builtin_ops().find("my_relu"));
}

BOOST_AUTO_TEST_CASE(a_kind_that_makes_no_sense_is_refused) {
  const auto refused = [](const char* text, const OpKind& kind) {
    OpRegistry ops = builtin_ops();
    testing::expect_error(ErrorKind::usage, text, [&] { ops.add(kind); });
  };
  for (const char* const name : {"a b", "a\nb", "9x", "-x"}) {
    refused("an op kind can't be named '", {.name = name});
  }
  refused("has no shape rule", {.name = "k", .type = nullptr});
  refused("has no shape rule", {.name = "k", .work = nullptr});
  refused("has no shape rule", {.name = "k", .further_outputs = {{"more", nullptr}}});
  refused("two attributes of 'k' have one name",
          {.name = "k", .attrs = {{.name = "a", .fallback = 1.0}, {.name = "a", .fallback = 1.0}}});
  refused("'k' takes 3 to 2 inputs", {.name = "k", .inputs = {3, 2}});
  refused("'k' computes in place of input 1, and may get 1 input",
          {.name = "k", .inputs = {1, 2}, .in_place_of = 1});
  refused("'k' moves data, as copy does", {.name = "k", .inputs = 1, .moves_data = true});
  refused("the output 'a.b' of 'k' has a dot in its name",
          {.name = "k", .further_outputs = {{"a.b"}}});
  for (const char* const word : {"op", "in", "on", "to", "repeat"}) {
    refused("which is a word of run files",
            {.name = "k", .attrs = {{.name = word, .fallback = std::int64_t{1}}}});
  }
  refused("'index' of 'k' is -1 where nothing is said, and goes from 0 to 1099511627776",
          {.name = "k", .attrs = {{.name = "index", .fallback = std::int64_t{-1}}}});
  refused(
      "'way' of 'k' is 'up' where nothing is said, which is none of left, right",
      {.name = "k",
       .attrs = {{.name = "way", .fallback = std::string("up"), .choices = {"left", "right"}}}});
}

BOOST_AUTO_TEST_CASE(a_kind_with_more_further_outputs_than_can_be_counted_is_refused) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= OpKind::further_outputs_max; ++i) names.push_back(std::to_string(i));
  OpKind kind{.name = "k", .inputs = 1};
  for (const std::string& name : names) kind.further_outputs.push_back({.name = name});
  OpRegistry ops;
  testing::expect_error(ErrorKind::usage, "'k' has 65536 further outputs; an op has at most 65535",
                        [&] { ops.add(kind); });
  kind.further_outputs.pop_back();
  BOOST_TEST(ops.add(kind).index() == 0U);
}

// The sample of op_kind.hpp.
BOOST_AUTO_TEST_CASE(a_kind_needs_little_more_than_a_name_and_a_kernel) {
  OpRegistry ops = builtin_ops();
  const OpKindId id = ops.add({.name = "clamp",
                               .summary = "values above `limit` become `limit`",
                               .inputs = 1,
                               .attrs = {{.name = "limit", .fallback = 1.0}},
                               .cpu = [](const CpuCall& call) {
                                 const auto limit =
                                     static_cast<float>(call.attrs.get<double>("limit"));
                                 const float* x = call.inputs[0].as<float>();
                                 float* y = call.output.as<float>();
                                 const std::int64_t n = call.output.type.shape.elements();
                                 for (std::int64_t i = 0; i < n; ++i) y[i] = std::min(x[i], limit);
                               }});
  const OpKind& kind = ops[id];
  const Attrs attrs = complete_attrs(kind, {{"limit", 2}});
  const testing::Tensor x = testing::tensor<float>({3}, {-1, 2, 5});
  const std::array inputs{x.type};
  const OpSignature op{.inputs = inputs, .attrs = attrs, .declared = {}};
  BOOST_TEST((kind.type(op) == x.type));
  BOOST_TEST(kind.work(op, x.type).flops == 3);
  BOOST_TEST(kind.work(op, x.type).bytes == 24);
  testing::Tensor out = x;
  testing::SerialTeam team;
  const std::array views{ConstTensorView{x.type, x.bytes.data()}};
  kind.cpu({.inputs = views, .output = {out.type, out.bytes.data()}, .attrs = attrs, .team = team});
  BOOST_TEST((out.values<float>() == std::vector<float>{-1, 2, 2}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
