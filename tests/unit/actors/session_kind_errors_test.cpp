// Op kinds of a program that a session refuses, or whose functions fail: each error names the kind
// and the call.
#include "core/ops/builtin.hpp"
#include "tests/unit/actors/session_fixture.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

using namespace troupe;
using testing::check_error;

BOOST_AUTO_TEST_SUITE(session_kind_errors)
namespace {

const std::string this_file = "session_kind_errors_test.cpp";
const Shape square{2, 2};

}  // namespace

BOOST_AUTO_TEST_CASE(a_kernel_that_throws_reaches_the_waiting_caller) {
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  const int line = __LINE__ + 1;
  const Tensor y = s.call("throw_this", {});
  check_error(
      [&] { y.wait(); },
      {"'throw_this[", "the kernel has no paper", " on cpu", "see what the kernel of this op does"},
      this_file, line);
}

BOOST_AUTO_TEST_CASE(a_kernel_may_throw_what_is_no_exception_and_a_shape_rule_any_exception) {
  OpRegistry ops = testing::session_ops();
  ops.add({.name = "throw_int", .declares_type = true, .cpu = [](const CpuCall&) { throw 42; }});
  ops.add({.name = "bad_rule", .type = [](const OpSignature&) -> TensorType {
             throw std::runtime_error("the rule has no paper");
           }});
  for (const int streams : {1, 2}) {
    for (const Mode mode : {Mode::run, Mode::rehearse}) {
      Machine machine = testing::session_machine();
      for (Device& device : machine.devices) device.streams = streams;
      Session s(machine, {.mode = mode, .ops = ops});
      int line = __LINE__ + 1;
      check_error([&] { s.call("bad_rule", {}); },
                  {"the shape rule of 'bad_rule' failed: the rule has no paper"}, this_file, line);
      line = __LINE__ + 1;
      const Tensor y = s.call("throw_int", {}, {}, {DType::f64, square});
      check_error([&] { y.wait(); }, {"'throw_int[", "no std::exception", " on cpu"}, this_file,
                  line);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_kernel_that_throws_without_a_message_is_named) {
  OpRegistry ops = testing::session_ops();
  ops.add({.name = "throw_nothing",
           .type = [](const OpSignature&) { return TensorType{}; },
           .cpu = [](const CpuCall&) { throw std::runtime_error(""); }});
  Session s(testing::session_machine(), {.ops = ops});
  const Tensor y = s.call("throw_nothing", {});
  check_error([&] { y.wait(); }, {"'throw_nothing[", "without a message"});
}

BOOST_AUTO_TEST_CASE(a_cost_that_is_none_is_refused_at_the_call_and_the_session_goes_on) {
  OpRegistry ops = testing::session_ops();
  ops.add({.name = "nan_cost", .inputs = 1, .work = [](const OpSignature&, const TensorType&) {
             return Work{.flops = std::nan("")};
           }});
  ops.add({.name = "negative_time", .inputs = 1, .work = [](const OpSignature&, const TensorType&) {
             return Work{.fixed = Duration{-1}};
           }});
  ops.add(
      {.name = "no_cost", .inputs = 1, .work = [](const OpSignature&, const TensorType&) -> Work {
         throw std::runtime_error("the cost has no paper");
       }});
  Session s(testing::session_machine(), {.ops = ops});
  const Tensor x = s.zeros(square);
  const auto refused = [&](const char* kind, const char* why) {
    const int line = __LINE__ + 1;
    check_error([&] { s.call(kind, {&x, 1}); }, {why}, this_file, line);
  };
  refused("nan_cost", "the cost of 'nan_cost' has nan floating-point operations");
  refused("negative_time", "'negative_time' takes -1e-09 s");
  refused("no_cost", "the cost has no paper");
  BOOST_TEST(exp(x).read<float>()[0] == 1);
}

BOOST_AUTO_TEST_CASE(an_op_that_can_not_load_what_it_needs_is_named) {
  OpRegistry ops = testing::session_ops();
  ops.add({.name = "loads_nothing",
           .inputs = 1,
           .cpu = [](const CpuCall&) {},
           .load = [] { throw std::runtime_error("the shelf is empty"); }});
  Session s(testing::session_machine(), {.ops = ops});
  const Tensor x = s.zeros(square);
  const Tensor y = s.call("loads_nothing", {&x, 1});
  check_error([&] { y.wait(); }, {"'loads_nothing' can't load", "the shelf is empty"});
}

// Functions such as relu() would call other kinds.
BOOST_AUTO_TEST_CASE(op_kinds_that_do_not_begin_with_the_builtin_ones_are_refused) {
  OpRegistry few;
  few.add({.name = "mine"});
  OpRegistry behind = few;
  for (OpKind (*const make)() : builtin_kinds) behind.add(make());
  for (const OpRegistry& ops : {few, behind}) {
    const int line = __LINE__ + 1;
    check_error([&] { Session s(testing::session_machine(), {.ops = ops}); },
                {"don't begin with those of builtin_ops()", "OpRegistry ops = builtin_ops();"},
                this_file, line);
  }
}

BOOST_AUTO_TEST_CASE(an_attribute_that_a_kind_does_not_have_is_named_where_it_is_read) {
  OpRegistry ops = testing::session_ops();
  ops.add({.name = "clip",
           .inputs = 1,
           .attrs = {{.name = "limit", .fallback = 1.0}},
           .cpu = [](const CpuCall& call) { call.attrs.get<double>("limt"); }});
  ops.add({.name = "repeat",
           .inputs = 1,
           .attrs = {{.name = "count", .fallback = 1.0}},
           .type =
               [](const OpSignature& op) {
                 return TensorType{DType::f32, {op.attrs.get<std::int64_t>("count")}};
               },
           .cpu = [](const CpuCall&) {}});
  Session s(testing::session_machine(), {.ops = ops});
  const Tensor x = s.zeros(square);
  int line = __LINE__ + 1;
  const auto repeat = [&] { s.call("repeat", {&x, 1}); };
  check_error(repeat, {"attribute 'count' is a number, read as a whole number"}, this_file, line);
  line = __LINE__ + 1;
  const Tensor y = s.call("clip", {&x, 1});
  check_error([&] { y.wait(); },
              {"'clip[", " on cpu", "there is no attribute 'limt' to read; did you mean 'limit'?"},
              this_file, line);
}

BOOST_AUTO_TEST_CASE(the_function_of_a_kind_that_throws_is_named) {
  OpRegistry ops = testing::session_ops();
  const auto no_type = [](const OpSignature&) { return TensorType{}; };
  ops.add({.name = "bad_cost",
           .type = no_type,
           .work = [](const OpSignature&, const TensorType&) -> Work {
             throw std::runtime_error("no cost");
           }});
  ops.add({.name = "bad_preparation",
           .type = no_type,
           .prepare = [](const Attrs&) -> std::shared_ptr<const void> {
             throw std::runtime_error("no preparation");
           }});
  ops.add({.name = "bad_values",
           .type = no_type,
           .cpu = [](const CpuCall&) {},
           .existing = [](const Attrs&) -> std::shared_ptr<const std::byte> {
             throw std::runtime_error("no values");
           }});
  Session s(testing::session_machine(), {.ops = ops});
  int line = __LINE__ + 1;
  check_error([&] { s.call("bad_cost", {}); }, {"the cost of 'bad_cost' failed: no cost"},
              this_file, line);
  line = __LINE__ + 1;
  check_error([&] { s.call("bad_preparation", {}); },
              {"`prepare` of 'bad_preparation' failed: no preparation"}, this_file, line);
  line = __LINE__ + 1;
  const Tensor x = s.call("bad_values", {});
  check_error([&] { x.wait(); }, {"`existing` of 'bad_values' failed: no values"}, this_file, line);
}

BOOST_AUTO_TEST_CASE(a_shape_rule_or_a_cost_may_throw_what_is_no_exception) {
  OpRegistry ops = testing::session_ops();
  ops.add({.name = "bad_rule", .type = [](const OpSignature&) -> TensorType { throw 42; }});
  ops.add({.name = "bad_cost",
           .type = [](const OpSignature&) { return TensorType{}; },
           .work = [](const OpSignature&, const TensorType&) -> Work { throw 42; }});
  ops.add({.name = "bad_preparation",
           .type = [](const OpSignature&) { return TensorType{}; },
           .prepare = [](const Attrs&) -> std::shared_ptr<const void> { throw 42; }});
  Session s(testing::session_machine(), {.ops = ops});
  const auto refused = [&](const char* kind, const char* what) {
    const int line = __LINE__ + 1;
    check_error([&] { s.call(kind, {}); }, {what, "threw something that is no std::exception"},
                this_file, line);
  };
  refused("bad_rule", "the shape rule of 'bad_rule'");
  refused("bad_cost", "the cost of 'bad_cost'");
  refused("bad_preparation", "`prepare` of 'bad_preparation'");
  BOOST_TEST(s.zeros(square).read<float>().size() == 4U);
}

BOOST_AUTO_TEST_SUITE_END()
