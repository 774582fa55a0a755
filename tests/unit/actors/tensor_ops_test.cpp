// The op kinds as functions of tensors.
#include "actors/tensor_ops.hpp"

#include "core/base/error.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/registry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace {

// Not in the scope of a `using namespace troupe`: found by the type of the argument.
troupe::Tensor by_the_names_of_std(const troupe::Tensor& x) {
  using std::exp;
  using std::log;
  using std::max;
  using std::sqrt;
  using std::tanh;
  return max(log(exp(tanh(sqrt(x)))), 0);
}

}  // namespace

using namespace troupe;

namespace {

Machine one_device() {
  Machine machine;
  machine.name = "one device";
  machine.memories = {{.name = "mem", .size_bytes = std::uint64_t{1} << 30}};
  machine.devices = {{.name = "cpu", .memory = MemoryId{0}}};
  return machine;
}

// Tensors for all functions. The shapes differ, so that exchanged inputs don't fit.
struct Operands {
  Session session{one_device()};
  Tensor x = session.uniform({3, 4}, 1);
  Tensor y = session.uniform({3, 4}, 2) - session.uniform({3, 4}, 3);
  Tensor gain = session.uniform({4}, 4);
  Tensor bias = session.uniform({4}, 5);
  Tensor labels = session.tensor(std::vector<float>{3, 0, 2}, {3});
  Tensor right = session.uniform({4, 5}, 6);        // x right is [3, 5]
  Tensor product = session.uniform({3, 5}, 7);      // like x right
  Tensor square = session.uniform({3, 3}, 8);       // like x xᵀ
  Tensor wide_square = session.uniform({4, 4}, 9);  // like xᵀ x
  Tensor triangle = session.tensor(std::vector<float>{2, 0, 0, 1, 3, 0, 1, 2, 4}, {3, 3});
  Tensor definite = session.tensor(std::vector<float>{4, 0, 0, 1, 5, 0, 1, 2, 6}, {3, 3});
  Tensor integers = session.zeros({3, 4}, DType::i32);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tensor_ops)

BOOST_AUTO_TEST_CASE(each_op_kind_has_a_function_that_computes_the_same_as_a_call_by_name) {
  Operands o;
  std::set<std::string_view> left;
  for (const auto kind : builtin_kinds) left.insert(kind().name);
  // Members of Session and Tensor, and kinds for tests.
  for (const std::string_view name :
       {"uniform", "zeros", "constant", "arange", "load", "copy", "spin", "sleep", "fail"}) {
    left.erase(name);
  }
  const auto check = [&](std::string_view kind, const Tensor& by_function,
                         std::initializer_list<Tensor> inputs, const Attrs& attrs = {},
                         const std::function<Tensor(const Tensor&)>& as_float = {}) {
    BOOST_TEST_CONTEXT(kind) {
      const Tensor by_name = o.session.call(kind, inputs, attrs);
      BOOST_TEST((by_function.type() == by_name.type()));
      const auto values = [&](const Tensor& x) {
        return (as_float ? as_float(x) : x).read<float>();
      };
      BOOST_TEST(values(by_function) == values(by_name), boost::test_tools::per_element());
      left.erase(kind);
    }
  };
  check("exp", exp(o.y), {o.y});
  check("log", log(o.x), {o.x});
  check("sqrt", sqrt(o.x), {o.x});
  check("sin", sin(o.y), {o.y});
  check("cos", cos(o.y), {o.y});
  check("tanh", tanh(o.y), {o.y});
  check("sigmoid", sigmoid(o.y), {o.y});
  check("pow", pow(o.x, 1.5), {o.x}, {{"exponent", 1.5}});
  check("pow", pow(o.y, 2), {o.y}, {{"exponent", 2.0}});
  check("abs", abs(o.y), {o.y});
  check("gelu", gelu(o.y), {o.y});
  check("relu", relu(o.y), {o.y});
  check("scale", 0.3 * o.y, {o.y}, {{"alpha", 0.3}});
  check("scale", o.y * 0.3, {o.y}, {{"alpha", 0.3}});
  check("scale", -o.y, {o.y}, {{"alpha", -1.0}});
  check("scale", o.y / 0.3, {o.y}, {{"alpha", 1.0}, {"divisor", 0.3}});
  check("reciprocal", 0.3 / o.x, {o.x}, {{"numerator", 0.3}});
  check("scale", o.y + 0.3, {o.y}, {{"alpha", 1.0}, {"shift", 0.3}});
  check("scale", 0.3 + o.y, {o.y}, {{"alpha", 1.0}, {"shift", 0.3}});
  check("scale", o.y - 0.3, {o.y}, {{"alpha", 1.0}, {"shift", -0.3}});
  check("scale", 0.3 - o.y, {o.y}, {{"alpha", -1.0}, {"shift", 0.3}});
  check("add", o.x + o.bias, {o.x, o.bias});
  check("sub", o.x - o.bias, {o.x, o.bias});
  check("mul", o.x * o.bias, {o.x, o.bias});
  check("div", o.x / o.gain, {o.x, o.gain});
  check("maximum", maximum(o.y, o.bias), {o.y, o.bias});
  check("minimum", minimum(o.y, o.bias), {o.y, o.bias});
  check("greater", o.x > o.gain, {o.x, o.gain});
  check("greater", o.gain < o.x, {o.x, o.gain});
  check("greater_equal", o.x >= o.gain, {o.x, o.gain});
  check("greater_equal", o.gain <= o.x, {o.x, o.gain});
  check("equal", equal(o.x, o.x), {o.x, o.x});
  check("where", where(o.y > 0, o.x, o.gain), {o.y > 0, o.x, o.gain});
  check("axpy", axpy(0.3, o.x, o.y), {o.x, o.y}, {{"alpha", 0.3}});
  check("relu_grad", relu_grad(o.x, o.y), {o.x, o.y});

  check("sum", sum(o.x, -1), {o.x}, {{"axis", std::int64_t{1}}});
  check("sum", sum(o.x, 0, true), {o.x}, {{"axis", std::int64_t{0}}, {"keep", true}});
  check("max", max(o.y, 0), {o.y}, {{"axis", std::int64_t{0}}});
  check("max", max(o.y, 1, true), {o.y}, {{"axis", std::int64_t{1}}, {"keep", true}});
  check("min", min(o.y, 0), {o.y}, {{"axis", std::int64_t{0}}});
  check("min", min(o.y, -1, true), {o.y}, {{"axis", std::int64_t{1}}, {"keep", true}});
  const auto as_float = [](const Tensor& x) { return cast(x, DType::f32); };
  check("argmax", argmax(o.y, 1), {o.y}, {{"axis", std::int64_t{1}}}, as_float);
  check("argmin", argmin(o.y, 0, true), {o.y}, {{"axis", std::int64_t{0}}, {"keep", true}},
        as_float);
  check("softmax", softmax(o.y), {o.y});
  check("layer_norm", layer_norm(o.y, o.gain, o.bias), {o.y, o.gain, o.bias});
  check("layer_norm", layer_norm(o.y, o.gain, o.bias, 0.5), {o.y, o.gain, o.bias},
        {{"epsilon", 0.5}});
  check("softmax_cross_entropy", softmax_cross_entropy(o.y, o.labels), {o.y, o.labels});
  check("softmax_cross_entropy_grad", softmax_cross_entropy_grad(o.y, o.labels), {o.y, o.labels});

  check("cast", cast(o.integers, DType::f32), {o.integers}, {{"dtype", std::string("float32")}});
  check("reshape", reshape(o.x, {2, -1}), {o.x}, {{"shape", Integers{2, 6}}});
  check("reshape", reshape(o.x, o.x.shape()), {o.x}, {{"shape", Integers{3, 4}}});
  check("transpose", transpose(o.x), {o.x});
  check("transpose", transpose(o.x, {0, 1}), {o.x}, {{"axes", Integers{0, 1}}});
  const std::size_t first = 0;
  const std::size_t rows = 2;
  check("slice", slice(o.x, {first, 1}, {first + rows, 4}), {o.x},
        {{"begin", Integers{0, 1}}, {"end", Integers{2, 4}}});
  const Tensor numbers = o.session.tensor(std::vector<std::int64_t>{2, 0, 2}, {3});
  check("take", take(o.x, numbers), {o.x, numbers});
  check("take", take(o.x, numbers, -1), {o.x, numbers}, {{"axis", std::int64_t{1}}});
  const Tensor rows_of_x = take(o.x, numbers);
  check("index_add", index_add(o.x, numbers, rows_of_x), {o.x, numbers, rows_of_x});
  const Tensor columns_of_x = take(o.x, numbers, 1);
  check("index_add", index_add(o.x, numbers, columns_of_x, -1), {o.x, numbers, columns_of_x},
        {{"axis", std::int64_t{1}}});
  check("concat", concat({o.x, o.y, o.x}, 1), {o.x, o.y, o.x}, {{"axis", std::int64_t{1}}});

  check("matmul", matmul(o.x, o.right), {o.x, o.right});
  check("matmul", matmul(o.x, o.y, true), {o.x, o.y}, {{"transpose_a", true}});
  check("matmul", matmul(o.x, o.y, false, true), {o.x, o.y}, {{"transpose_b", true}});
  check("gemm", gemm(o.x, o.right, o.product), {o.x, o.right, o.product});
  check("gemm", gemm(o.x, o.y, o.wide_square, {.transpose_a = true, .alpha = 0.5, .beta = 2}),
        {o.x, o.y, o.wide_square}, {{"transpose_a", true}, {"alpha", 0.5}, {"beta", 2.0}});
  check("gemm", gemm(o.x, o.y, o.square, {.transpose_b = true}), {o.x, o.y, o.square},
        {{"transpose_b", true}});
  check("syrk", syrk(o.x, o.square), {o.x, o.square});
  check("syrk", syrk(o.x, o.wide_square, {.transpose = true, .alpha = 0.5, .beta = 2}),
        {o.x, o.wide_square}, {{"transpose", true}, {"alpha", 0.5}, {"beta", 2.0}});
  check("trsm", trsm(o.triangle, o.x), {o.triangle, o.x});
  check("trsm", trsm(o.triangle, o.square, {.side = Side::right, .transpose = true, .alpha = 2}),
        {o.triangle, o.square},
        {{"side", std::string("right")}, {"transpose", true}, {"alpha", 2.0}});
  check("potrf", potrf(o.definite), {o.definite});
  for (const std::string_view kind : left) BOOST_ERROR("untested: " << kind);
}

BOOST_AUTO_TEST_CASE(labels_of_integers_are_cast_for_a_loss) {
  Operands o;
  const Tensor labels = o.session.tensor(std::vector<std::int64_t>{3, 0, 2}, {3});
  BOOST_TEST(softmax_cross_entropy(o.y, cast(labels, DType::f32)).read<float>() ==
                 softmax_cross_entropy(o.y, o.labels).read<float>(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_mean_is_the_sum_divided_by_the_extent) {
  Session s(one_device());
  const Tensor x = s.tensor(std::vector<double>{1, 2, 4, 5, 7, 8}, {2, 3});
  BOOST_TEST(mean(x, 0).read<double>() == (std::vector<double>{3, 4.5, 6}),
             boost::test_tools::per_element());
  const Tensor rows = mean(x, -1, true);
  BOOST_TEST((rows.type().shape == Shape{2, 1}));
  BOOST_TEST(rows.read<double>() == (std::vector<double>{7.0 / 3, 20.0 / 3}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_an_axis_a_reduction_is_over_all_elements) {
  Session s(one_device());
  const Tensor x = s.tensor({4.0, -2.0, 3.0, 1.0, 7.0, 5.0}, {3, 1, 2});
  for (const auto& [made, expected] :
       {std::pair{sum(x), 18.0}, {max(x), 7.0}, {min(x), -2.0}, {mean(x), 3.0}}) {
    BOOST_TEST((made.shape() == Shape{1}));
    BOOST_TEST(made.read<double>()[0] == expected);
  }
  const Tensor number = s.constant({}, 3);
  BOOST_TEST((sum(number).shape() == Shape{1}));
  BOOST_TEST(mean(number).read<float>()[0] == 3);
  BOOST_TEST(sum(s.arange(5)).read<std::int64_t>()[0] == 10);
  BOOST_CHECK_THROW(mean(s.arange(5)), Error);
}

// In place or not, and with one tensor as two of the inputs.
BOOST_AUTO_TEST_CASE(index_add_leaves_tensors_that_have_handles_as_they_are) {
  Session s(one_device());
  using Integers64 = std::vector<std::int64_t>;
  const auto check = [](const Tensor& x, const Integers64& expected) {
    BOOST_TEST(x.read<std::int64_t>() == expected, boost::test_tools::per_element());
  };
  Tensor table = s.arange(3) + 1;
  const Tensor kept = table;
  const Tensor numbers = s.tensor(Integers64{0, 2, 2}, {3});
  for (int i = 0; i < 3; ++i) table = index_add(table, numbers, s.constant({3}, 10, DType::i64));
  check(table, {31, 2, 63});
  check(kept, {1, 2, 3});
  check(index_add(kept, numbers, kept), {2, 2, 8});
  check(index_add(numbers, numbers, numbers), {0, 2, 6});
  check(numbers, {0, 2, 2});
}

BOOST_AUTO_TEST_CASE(a_variance_is_the_mean_of_squared_differences_from_the_mean) {
  Session s(one_device());
  const Tensor x = s.tensor(std::vector<double>{1, 2, 4, 5, 8, 12}, {2, 3});
  BOOST_TEST(variance(x, 0).read<double>() == (std::vector<double>{4, 9, 16}),
             boost::test_tools::per_element());
  const Tensor rows = variance(x, -1, true);
  BOOST_TEST((rows.type().shape == Shape{2, 1}));
  BOOST_TEST(rows.read<double>()[0] == 14.0 / 9, boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(a_stack_has_its_tensors_along_a_new_axis) {
  Session s(one_device());
  const Tensor x = s.tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor y = s.tensor({7, 8, 9, 10, 11, 12}, {2, 3});
  for (const auto& [axis, shape, first] : {std::tuple{0, Shape{2, 2, 3}, 2},
                                           {1, Shape{2, 2, 3}, 2},
                                           {2, Shape{2, 3, 2}, 7},
                                           {-1, Shape{2, 3, 2}, 7},
                                           {-3, Shape{2, 2, 3}, 2}}) {
    const Tensor both = stack({x, y}, axis);
    BOOST_TEST((both.type().shape == shape));
    BOOST_TEST(both.read<std::int32_t>()[1] == first);
  }
  BOOST_TEST(stack({x, y}, 1).read<std::int32_t>() ==
                 (std::vector<std::int32_t>{1, 2, 3, 7, 8, 9, 4, 5, 6, 10, 11, 12}),
             boost::test_tools::per_element());
  const Tensor number = s.constant({}, 3);
  BOOST_TEST((stack({number, number}).type().shape == Shape{2}));
}

// Whole numbers, which are no doubles, on the side that needs them.
BOOST_AUTO_TEST_CASE(operators_take_tensors_and_numbers_on_both_sides) {
  Session session(one_device());
  const Tensor x = session.tensor(std::vector<float>{1, 2, 4}, {3});
  const Tensor i = session.tensor(std::vector<std::int64_t>{1, 2, 4}, {3});
  const auto check = [](const Tensor& made, const std::vector<float>& expected) {
    BOOST_TEST(made.read<float>() == expected, boost::test_tools::per_element());
  };
  check(2 * x, {2, 4, 8});
  check(maximum(2, x), {2, 2, 4});
  check(minimum(2, x), {1, 2, 2});
  check(x * 2, {2, 4, 8});
  check(x * x, {1, 4, 16});
  check(x / 2, {0.5, 1, 2});
  check(4 / x, {4, 2, 1});
  check(x / x, {1, 1, 1});
  check(x + 1, {2, 3, 5});
  check(1 + x, {2, 3, 5});
  check(x - 1, {0, 1, 3});
  check(1 - x, {0, -1, -3});
  check(-x, {-1, -2, -4});
  check(0 - x * 0, {0, 0, 0});
  BOOST_TEST((1 - 2 * i).read<std::int64_t>() == (std::vector<std::int64_t>{-1, -3, -7}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tensors_are_compared_with_numbers_and_chosen_from) {
  Session s{one_device()};
  using Floats = std::vector<float>;
  const Tensor x = s.tensor(Floats{-1, 0, 0.5, 2}, {4});
  BOOST_TEST((x > 0).read<float>() == (Floats{0, 0, 1, 1}), boost::test_tools::per_element());
  BOOST_TEST((x < 0.5).read<float>() == (Floats{1, 1, 0, 0}), boost::test_tools::per_element());
  BOOST_TEST((x >= 0).read<float>() == (Floats{0, 1, 1, 1}), boost::test_tools::per_element());
  BOOST_TEST((x <= 0).read<float>() == (Floats{1, 1, 0, 0}), boost::test_tools::per_element());
  BOOST_TEST((0 > x).read<float>() == (Floats{1, 0, 0, 0}), boost::test_tools::per_element());
  BOOST_TEST((0.5 < x).read<float>() == (Floats{0, 0, 0, 1}), boost::test_tools::per_element());
  BOOST_TEST((0 >= x).read<float>() == (Floats{1, 1, 0, 0}), boost::test_tools::per_element());
  BOOST_TEST((0.5 <= x).read<float>() == (Floats{0, 0, 1, 1}), boost::test_tools::per_element());
  BOOST_TEST(equal(x, 0.5).read<float>() == (Floats{0, 0, 1, 0}), boost::test_tools::per_element());
  BOOST_TEST(maximum(x, 0.25).read<float>() == (Floats{0.25, 0.25, 0.5, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(minimum(x, 1).read<float>() == (Floats{-1, 0, 0.5, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(where(x < 0, 0.1 * x, x).read<float>() == (Floats{-0.1F, 0, 0.5, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(where(x > 0, x, -7).read<float>() == (Floats{-7, -7, 0.5, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(where(x > 0, -7, x).read<float>() == (Floats{-1, 0, -7, -7}),
             boost::test_tools::per_element());
  BOOST_TEST(where(x > 0, 1, -1).read<float>() == (Floats{-1, -1, 1, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(s.constant({2, 1}, 2.5).read<float>() == (Floats{2.5, 2.5}),
             boost::test_tools::per_element());
}

// As it would be whether there is a tensor.
BOOST_AUTO_TEST_CASE(the_answers_of_a_comparison_are_a_tensor_and_no_condition_of_the_program) {
  static_assert(std::is_constructible_v<bool, Tensor>);
  static_assert(!std::is_constructible_v<bool, Answers>);
  Session s{one_device()};
  const Tensor x = s.tensor(std::vector<float>{-1, 2}, {2});
  const Tensor is_positive = x > 0;
  BOOST_TEST(static_cast<bool>(is_positive));
  BOOST_TEST(sum((x > 0) * x, 0).read<float>()[0] == 2);
}

BOOST_AUTO_TEST_CASE(integers_are_compared_with_whole_numbers_only) {
  Session s{one_device()};
  const Tensor x = s.tensor(std::vector<std::int64_t>{-3, 0, 5}, {3});
  BOOST_TEST((x > -1).read<std::int64_t>() == (std::vector<std::int64_t>{0, 1, 1}),
             boost::test_tools::per_element());
  BOOST_CHECK_THROW(static_cast<void>(x > 0.5), Error);
  BOOST_CHECK_THROW(static_cast<void>(Tensor() > 0.5), Error);
  BOOST_CHECK_THROW(s.constant({3}, 0.5, DType::i32), Error);
}

BOOST_AUTO_TEST_CASE(an_assigning_operator_gives_the_handle_another_tensor) {
  Session session(one_device());
  const Tensor y = session.tensor(std::vector<float>{1, 2, 4}, {3});
  Tensor x = y;
  const Tensor before = x;
  const auto check = [&](const Tensor& made, const std::vector<float>& expected) {
    BOOST_TEST(&made == &x);
    BOOST_TEST(x.read<float>() == expected, boost::test_tools::per_element());
    BOOST_TEST(before.read<float>() == (std::vector<float>{1, 2, 4}),
               boost::test_tools::per_element());
  };
  check(x += y, {2, 4, 8});
  check(x *= x, {4, 16, 64});
  check(x /= y, {4, 8, 16});
  check(x -= y, {3, 6, 12});
  check(x += 1, {4, 7, 13});
  check(x -= 2.0, {2, 5, 11});
  check(x *= 2, {4, 10, 22});
  check(x /= 4, {1, 2.5, 5.5});
}

BOOST_AUTO_TEST_CASE(what_becomes_a_number_serves_as_one) {
  Operands o;
  const std::vector<bool> one{true};
  const std::integral_constant<int, 2> two;
  enum Count { three = 3 };
  BOOST_TEST((o.x + one[0] + two + three + std::size_t{4} + 5.0F).read<float>() ==
                 (o.x + 15).read<float>(),
             boost::test_tools::per_element());
}

template <class T>
concept NamesAxis = requires(const Tensor& x, T axis) {
  max(x, axis);
  sum(x, axis, true);
};
BOOST_AUTO_TEST_CASE(an_axis_is_a_whole_number_or_it_does_not_compile) {
  BOOST_TEST((NamesAxis<int> && NamesAxis<std::size_t> && NamesAxis<std::int64_t>));
  BOOST_TEST(!NamesAxis<double>);
  BOOST_TEST(!NamesAxis<float>);
  BOOST_TEST(!NamesAxis<bool>);
}

BOOST_AUTO_TEST_CASE(functions_whose_names_std_has_are_found_by_the_type_of_the_argument) {
  Operands o;
  BOOST_TEST(
      by_the_names_of_std(o.x).read<float>() == max(log(exp(tanh(sqrt(o.x)))), 0).read<float>(),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(inputs_that_do_not_fit_are_refused_with_the_line_of_the_caller) {
  Operands o;
  const Tensor& i = o.integers;
  Tensor x = o.x;
  Tensor whole = i;
  const Tensor none;
  // clang-format splits calls with lists.
  const Integers five_rows{5, -1};
  const Integers same_axis{0, 0};
  const Integers begin{0, 2};
  const Integers end{1, 5};
  const std::vector<Tensor> unequal{o.x, o.right};
  const std::vector<Tensor> mixed{o.x, i};
  const std::vector<Tensor> twice{o.x, o.x};
  struct Misfit {
    int line;
    std::function<void()> call;
  };
  const std::vector<Misfit> misfits{
      {__LINE__, [&] { exp(i); }},
      {__LINE__, [&] { log(i); }},
      {__LINE__, [&] { sqrt(i); }},
      {__LINE__, [&] { sin(i); }},
      {__LINE__, [&] { cos(i); }},
      {__LINE__, [&] { tanh(i); }},
      {__LINE__, [&] { sigmoid(i); }},
      {__LINE__, [&] { mean(i, 0); }},
      {__LINE__, [&] { mean(o.x, 2); }},
      {__LINE__, [&] { take(o.x, o.x); }},
      {__LINE__, [&] { index_add(o.x, o.x, o.x); }},
      {__LINE__, [&] { variance(i, 0); }},
      {__LINE__, [&] { variance(o.x, 2); }},
      {__LINE__, [&] { stack(mixed); }},
      {__LINE__, [&] { stack(twice, 3); }},
      {__LINE__, [&] { stack(twice, -4); }},
      {__LINE__, [&] { stack({}); }},
      {__LINE__, [&] { gelu(i); }},
      {__LINE__, [&] { relu(i); }},
      {__LINE__, [&] { 0.5 * i; }},
      {__LINE__, [&] { i + 0.5; }},
      {__LINE__, [&] { 0.5 - i; }},
      {__LINE__, [&] { i + 9007199254740993; }},
      {__LINE__, [&] { 18446744073709551615U * i; }},
      {__LINE__, [&] { axpy(9007199254740993, o.x, o.x); }},
      {__LINE__, [&] { i / 2; }},
      {__LINE__, [&] { 2 / i; }},
      {__LINE__, [&] { -none; }},
      {__LINE__, [&] { x += o.right; }},
      {__LINE__, [&] { x -= o.right; }},
      {__LINE__, [&] { x *= o.right; }},
      {__LINE__, [&] { x /= o.right; }},
      {__LINE__, [&] { whole += 0.5; }},
      {__LINE__, [&] { whole -= 0.5; }},
      {__LINE__, [&] { whole *= 0.5; }},
      {__LINE__, [&] { whole /= 2; }},
      {__LINE__, [&] { o.x + o.right; }},
      {__LINE__, [&] { o.x - o.right; }},
      {__LINE__, [&] { o.x* o.right; }},
      {__LINE__, [&] { o.x / o.right; }},
      {__LINE__, [&] { i / i; }},
      {__LINE__, [&] { maximum(o.x, o.right); }},
      {__LINE__, [&] { minimum(o.x, o.right); }},
      {__LINE__, [&] { axpy(2, o.x, o.right); }},
      {__LINE__, [&] { relu_grad(o.x, o.right); }},
      {__LINE__, [&] { sum(o.x, 2); }},
      {__LINE__, [&] { max(o.x, -3); }},
      {__LINE__, [&] { softmax(i); }},
      {__LINE__, [&] { layer_norm(o.x, o.gain, o.labels); }},
      {__LINE__, [&] { softmax_cross_entropy(o.x, o.gain); }},
      {__LINE__, [&] { softmax_cross_entropy_grad(o.x, o.gain); }},
      {__LINE__, [&] { reshape(o.x, five_rows); }},
      {__LINE__, [&] { transpose(o.x, same_axis); }},
      {__LINE__, [&] { slice(o.x, begin, end); }},
      {__LINE__, [&] { concat(unequal, 0); }},
      {__LINE__, [&] { concat({}, 0); }},
      {__LINE__, [&] { matmul(o.x, o.y); }},
      {__LINE__, [&] { gemm(o.x, o.right, o.square); }},
      {__LINE__, [&] { syrk(o.x, o.wide_square); }},
      {__LINE__, [&] { trsm(o.triangle, o.right); }},
      {__LINE__, [&] { potrf(o.x); }},
      {__LINE__, [&] { exp(none); }},
      {__LINE__, [&] { o.x + none; }},
      {__LINE__, [&] { concat({none}, 0); }},
  };
  for (const Misfit& misfit : misfits) {
    BOOST_CHECK_EXCEPTION(misfit.call(), Error, [&](const Error& error) {
      BOOST_TEST(error.place().line == misfit.line, error.what());
      return std::string_view(error.place().file).ends_with("tensor_ops_test.cpp");
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()
