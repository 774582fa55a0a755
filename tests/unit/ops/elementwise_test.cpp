// Ops that compute each element independently.
#include "tests/support/expect_error.hpp"
#include "tests/support/op_cases.hpp"

#include <cmath>
#include <limits>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(elementwise)
namespace {

// More than three blocks, and no whole number of them.
const Shape blocks{7, 16385};

template <class T, class F>
void check_binary(std::string_view op, DType dtype, const F& expected) {
  const Tensor a = random_tensor({dtype, blocks}, 1);
  const Tensor b = random_tensor({dtype, blocks}, 2);
  const Tensor out = run_op(op, {a, b});
  for (std::size_t i = 0; i < static_cast<std::size_t>(blocks.elements()); ++i) {
    if (out.at<T>(i) != expected(a.at<T>(i), b.at<T>(i))) {
      BOOST_ERROR(op << " differs at element " << i);
      return;
    }
  }
  BOOST_TEST(same_for_every_team(op, {a, b}), op);
}

// The place of the element of a tensor of this shape that is read at `index` of a larger one.
std::size_t broadcast_place(const Shape& shape, std::vector<std::int64_t> index) {
  index.erase(index.begin(), index.end() - static_cast<std::ptrdiff_t>(shape.rank()));
  for (std::size_t d = 0; d < index.size(); ++d) index[d] %= shape[d];
  return place_of(shape, index);
}

Tensor tensor_of_zeros(const TensorType& type) {
  return run_op("zeros", {}, {}, type);
}

}  // namespace

BOOST_AUTO_TEST_CASE(arithmetic_agrees_with_a_plain_loop) {
  check_binary<float>("add", DType::f32, [](float a, float b) { return a + b; });
  check_binary<float>("sub", DType::f32, [](float a, float b) { return a - b; });
  check_binary<float>("mul", DType::f32, [](float a, float b) { return a * b; });
  check_binary<double>("add", DType::f64, [](double a, double b) { return a + b; });
  check_binary<double>("sub", DType::f64, [](double a, double b) { return a - b; });
  check_binary<double>("mul", DType::f64, [](double a, double b) { return a * b; });
  check_binary<float>("div", DType::f32, [](float a, float b) { return a / b; });
  check_binary<double>("div", DType::f64, [](double a, double b) { return a / b; });
  check_binary<float>("maximum", DType::f32, [](float a, float b) { return std::fmax(a, b); });
  check_binary<double>("maximum", DType::f64, [](double a, double b) { return std::fmax(a, b); });
  check_binary<float>("minimum", DType::f32, [](float a, float b) { return std::fmin(a, b); });
  check_binary<double>("minimum", DType::f64, [](double a, double b) { return std::fmin(a, b); });
  check_binary<float>("greater", DType::f32, [](float a, float b) { return a > b ? 1.0F : 0.0F; });
  check_binary<double>("greater_equal", DType::f64,
                       [](double a, double b) { return a >= b ? 1.0 : 0.0; });
}

BOOST_AUTO_TEST_CASE(comparisons_of_equal_numbers_and_of_nans) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor a = tensor<double>({6}, {0.0, 1, 2, nan, nan, 1});
  const Tensor b = tensor<double>({6}, {-0.0, 1, 1, 1, nan, 2});
  const auto values = [&](const char* op) { return run_op(op, {a, b}).values<double>(); };
  BOOST_TEST((values("greater") == std::vector<double>{0, 0, 1, 0, 0, 0}));
  BOOST_TEST((values("greater_equal") == std::vector<double>{1, 1, 1, 0, 0, 0}));
  BOOST_TEST((values("equal") == std::vector<double>{1, 1, 0, 0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(where_takes_a_where_the_condition_is_not_0) {
  for_random_cases(
      all_dtypes,
      [](Random& random, DType dtype) {
        const Shape shape = random_shape(random);
        const auto thinned = [&] {
          std::vector<std::int64_t> extents;
          for (std::size_t d = random.below(shape.rank()); d < shape.rank(); ++d) {
            extents.push_back(random.below(3) == 0 ? 1 : shape[d]);
          }
          return random_tensor({dtype, Shape(extents)}, random.next());
        };
        const Tensor zeros = tensor_of_zeros({dtype, shape});
        const std::vector<Tensor> in{run_op("greater", {thinned(), zeros}), thinned(), thinned()};
        const Tensor out = run_op("where", in);
        BOOST_REQUIRE((out.type == TensorType{dtype, shape}));
        std::vector<std::vector<double>> values;
        for (const Tensor& x : in) values.push_back(doubles(x));
        std::vector<double> expected;
        IndexCounter at(shape);
        for (std::int64_t i = 0; i < shape.elements(); ++i, at.next()) {
          std::array<double, 3> x{};
          for (std::size_t k = 0; k < 3; ++k) {
            x[k] = values[k][broadcast_place(in[k].type.shape, at.index())];
          }
          expected.push_back(x[0] != 0 ? x[1] : x[2]);
        }
        check_close(out, expected, 0);
        BOOST_TEST(same_for_every_team("where", in));
      },
      10);
}

BOOST_AUTO_TEST_CASE(a_nan_is_a_condition_that_holds) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor condition = tensor<double>({4}, {nan, 0.0, -0.0, -1});
  const Tensor out =
      run_op("where", {condition, tensor<double>({1}, {5}), tensor<double>({}, {7})});
  BOOST_TEST((out.values<double>() == std::vector<double>{5, 7, 7, 5}));
}

BOOST_AUTO_TEST_CASE(where_refuses_shapes_and_types_that_differ) {
  const TensorType x{DType::f32, {4, 5}};
  expect_error(ErrorKind::usage, "all must have the same shape, or extents of 1 where they differ",
               [&] {
                 type_of("where", {x, x, {DType::f32, {5, 4}}});
               });
  expect_error(ErrorKind::usage, "all must have the same element type", [&] {
    type_of("where", {x, x, {DType::f64, {4, 5}}});
  });
}

BOOST_AUTO_TEST_CASE(integers_wrap_around_and_are_compared_with_their_sign) {
  const auto check = [](auto element) {
    using T = decltype(element);
    constexpr T most = std::numeric_limits<T>::max();
    constexpr T least = std::numeric_limits<T>::min();
    const Tensor a = tensor<T>({4}, {7, -7, most, least});
    const Tensor b = tensor<T>({4}, {-3, -3, 2, 3});
    const auto values = [&](const char* op) { return run_op(op, {a, b}).template values<T>(); };
    BOOST_TEST((values("add") == std::vector<T>{4, -10, least + 1, least + 3}));
    BOOST_TEST((values("sub") == std::vector<T>{10, -4, most - 2, most - 2}));
    BOOST_TEST((values("mul") == std::vector<T>{-21, 21, -2, least}));
    BOOST_TEST((values("maximum") == std::vector<T>{7, -3, most, 3}));
    BOOST_TEST((values("minimum") == std::vector<T>{-3, -7, 2, least}));
    BOOST_TEST((values("greater") == std::vector<T>{1, 0, 1, 0}));
    BOOST_TEST((run_op("abs", {a}).template values<T>() == std::vector<T>{7, 7, most, least}));
  };
  check(std::int32_t{});
  check(std::int64_t{});
}

BOOST_AUTO_TEST_CASE(scale_multiplies_by_alpha) {
  BOOST_TEST(
      (run_op("scale", {tensor<double>({3}, {1, -2, 0.5})}, {{"alpha", -0.5}}).values<double>() ==
       std::vector<double>{-0.5, 1, -0.25}));
  const Tensor x = random_tensor({DType::f32, blocks}, 3);
  const Tensor out = run_op("scale", {x}, {{"alpha", 0.1}});
  BOOST_TEST(out.at<float>(40'000) == 0.1F * x.at<float>(40'000));
  BOOST_TEST(same_for_every_team("scale", {x}, {{"alpha", 0.1}}));
}

BOOST_AUTO_TEST_CASE(maximum_and_minimum_pass_a_nan_of_either_side_on) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor a = tensor<double>({4}, {nan, 1, nan, -inf});
  const Tensor b = tensor<double>({4}, {1, nan, nan, inf});
  for (const char* op : {"maximum", "minimum"}) {
    const Tensor out = run_op(op, {a, b});
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(std::isnan(out.at<double>(i)));
    BOOST_TEST(out.at<double>(3) == (std::string_view(op) == "maximum" ? inf : -inf));
    BOOST_TEST(std::isnan(run_op(op, {a, tensor<double>({1}, {nan})}).at<double>(1)));
    BOOST_TEST(std::isnan(run_op(op, {tensor<double>({1}, {nan}), b}).at<double>(3)));
  }
}

BOOST_AUTO_TEST_CASE(a_division_by_zero_gives_infinity_or_nan) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor out = run_op("div", {tensor<float>({3}, {1, -1, 0}), tensor<float>({1}, {0})});
  BOOST_TEST(out.at<float>(0) == inf);
  BOOST_TEST(out.at<float>(1) == -inf);
  BOOST_TEST(std::isnan(out.at<float>(2)));
}

BOOST_AUTO_TEST_CASE(integers_are_not_divided) {
  expect_error(ErrorKind::usage, "'div' takes tensors of float32 and float64, and int32 [2], int32",
               [] {
                 type_of("div", {{DType::i32, {2}}, {DType::i32, {2}}});
               });
}

BOOST_AUTO_TEST_CASE(scale_divides_and_adds_a_number) {
  const Tensor x = tensor<float>({4}, {-1, 0.1F, 7, 1e-30F});
  const auto values = [&](const Attrs& attrs) {
    return run_op("scale", {x}, attrs).values<float>();
  };
  BOOST_TEST((values({{"alpha", 1.0}, {"divisor", 3.0}}) ==
              std::vector<float>{-1 / 3.0F, 0.1F / 3, 7 / 3.0F, 1e-30F / 3}));
  BOOST_TEST((values({{"alpha", 1.0}, {"shift", 0.2}}) ==
              std::vector<float>{-1 + 0.2F, 0.1F + 0.2F, 7 + 0.2F, 0.2F}));
  BOOST_TEST((values({{"alpha", -2.0}, {"divisor", 4.0}, {"shift", 1.0}}) ==
              std::vector<float>{1.5F, 1 - 0.1F / 2, -2.5, 1}));
  const Attrs all{{"alpha", 0.7}, {"divisor", 3.0}, {"shift", 0.2}};
  BOOST_TEST(same_for_every_team("scale", {random_tensor({DType::f64, blocks}, 3)}, all));
}

BOOST_AUTO_TEST_CASE(scale_without_a_shift_keeps_the_sign_of_a_zero) {
  const Tensor zeros = tensor<double>({2}, {0.0, -0.0});
  BOOST_TEST((run_op("scale", {zeros}, {{"alpha", 1.0}}) == zeros));
  BOOST_TEST((run_op("scale", {zeros}, {{"alpha", -1.0}}) == tensor<double>({2}, {-0.0, 0.0})));
}

BOOST_AUTO_TEST_CASE(scale_of_integers_takes_whole_numbers_and_wraps_around) {
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  const Tensor x = tensor<std::int32_t>({3}, {-4, 5, most});
  BOOST_TEST((run_op("scale", {x}, {{"alpha", -3.0}, {"shift", 1.0}}) ==
              tensor<std::int32_t>({3}, {13, -14, least + 4})));
  const TensorType type{DType::i32, {3}};
  expect_error(ErrorKind::usage, "'alpha' of 'scale' is 0.5; make it a whole number that int32 can",
               [&] {
                 type_of("scale", {type}, {{"alpha", 0.5}});
               });
  expect_error(ErrorKind::usage, "'shift' of 'scale' is 2147483648; make it", [&] {
    type_of("scale", {type}, {{"alpha", 1.0}, {"shift", 0x1p31}});
  });
  expect_error(ErrorKind::usage, "the input is int32 [3]; integers aren't divided: cast it", [&] {
    type_of("scale", {type}, {{"alpha", 1.0}, {"divisor", 2.0}});
  });
}

// Extents of one input are 1, or its leading axes missing, at random.
BOOST_AUTO_TEST_CASE(shapes_broadcast_as_in_numpy) {
  for_random_cases(
      [](Random& random, DType dtype) {
        const Shape shape = random_shape(random);
        const auto thinned = [&](bool whole) {
          std::vector<std::int64_t> extents;
          const std::size_t first = whole ? 0 : random.below(shape.rank());
          for (std::size_t d = first; d < shape.rank(); ++d) {
            extents.push_back(whole || random.below(2) == 0 ? shape[d] : 1);
          }
          return random_tensor({dtype, Shape(extents)}, random.next());
        };
        const bool first_is_whole = random.below(2) == 0;
        const Tensor a = thinned(first_is_whole);
        const Tensor b = thinned(!first_is_whole);
        const Tensor difference = run_op("sub", {a, b});
        const Tensor quotient = run_op("div", {a, b});
        const Tensor maximum = run_op("maximum", {a, b});
        BOOST_TEST((difference.type.shape == shape));
        const std::vector<double> in_a = doubles(a);
        const std::vector<double> in_b = doubles(b);
        std::vector<double> differences;
        std::vector<double> quotients;
        std::vector<double> maxima;
        IndexCounter at(shape);
        for (std::int64_t i = 0; i < shape.elements(); ++i, at.next()) {
          const double x = in_a[broadcast_place(a.type.shape, at.index())];
          const double y = in_b[broadcast_place(b.type.shape, at.index())];
          differences.push_back(x - y);
          quotients.push_back(x / y);
          maxima.push_back(std::max(x, y));
        }
        check_close(difference, differences, 1);
        check_close(quotient, quotients, 1);
        check_close(maximum, maxima, 0);
        BOOST_TEST(same_for_every_team("sub", {a, b}));
      },
      20);
}

BOOST_AUTO_TEST_CASE(a_vector_is_added_to_each_row) {
  const Tensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  BOOST_TEST((run_op("add", {x, tensor<float>({3}, {10, 20, 30})}).values<float>() ==
              std::vector<float>{11, 22, 33, 14, 25, 36}));
}

BOOST_AUTO_TEST_CASE(axpy_adds_a_multiple) {
  for_random_cases([](Random& random, DType dtype) {
    const TensorType type{dtype, random_shape(random)};
    const Tensor x = random_tensor(type, random.next());
    const Tensor y = random_tensor(type, random.next());
    const std::vector<double> factors = doubles(x);
    std::vector<double> expected = doubles(y);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += 0.7 * factors[i];
    check_close(run_op("axpy", {x, y}, {{"alpha", 0.7}}), expected, 3);
    BOOST_TEST(same_for_every_team("axpy", {x, y}, {{"alpha", 0.7}}));
  });
}

BOOST_AUTO_TEST_CASE(relu_keeps_what_is_positive_and_passes_nan_on) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor out = run_op("relu", {tensor<float>({5}, {-1, 2, nan, -inf, inf})});
  BOOST_TEST(out.at<float>(0) == 0);
  BOOST_TEST(out.at<float>(1) == 2);
  BOOST_TEST(std::isnan(out.at<float>(2)));
  BOOST_TEST(out.at<float>(3) == 0);
  BOOST_TEST(out.at<float>(4) == inf);
  BOOST_TEST(same_for_every_team("relu", {random_tensor({DType::f64, blocks}, 4)}));
}

BOOST_AUTO_TEST_CASE(copy_gives_the_same_bits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = random_tensor({dtype, blocks}, 5);
    BOOST_TEST((run_op("copy", {x}) == x));
    BOOST_TEST(same_for_every_team("copy", {x}));
  }
  const Tensor whole = tensor<std::int32_t>({3}, {-1, 0, 1 << 30});
  BOOST_TEST((run_op("copy", {whole}) == whole));
  BOOST_TEST(op_kind("copy").moves_data);
}

BOOST_AUTO_TEST_CASE(zeros_makes_the_declared_type_all_zero) {
  const TensorType declared{DType::f64, blocks};
  const Tensor out = run_op("zeros", {}, {}, declared);
  BOOST_TEST((out.type == declared));
  BOOST_TEST((out.bytes == std::vector<std::byte>(declared.bytes())));
  BOOST_TEST(same_for_every_team("zeros", {}, {}, declared));
  BOOST_TEST((run_op("zeros", {}, {}, {DType::i32, {2}}) == tensor<std::int32_t>({2}, {0, 0})));
}

BOOST_AUTO_TEST_CASE(a_constant_of_integers_is_a_whole_number_that_they_can_hold) {
  const auto constant = [](DType dtype, double value) {
    return run_op("constant", {}, {{"value", value}}, {dtype, {2}});
  };
  BOOST_TEST((constant(DType::i32, -7) == tensor<std::int32_t>({2}, {-7, -7})));
  BOOST_TEST((constant(DType::i64, -0x1p63) ==
              tensor<std::int64_t>({2}, std::vector(2, std::numeric_limits<std::int64_t>::min()))));
  for (const double value : {0.5, 0x1p31, -0x1p31 - 1, std::nan("")}) {
    expect_error(ErrorKind::usage, "make it a whole number that int32 can hold",
                 [&] { constant(DType::i32, value); });
  }
  expect_error(ErrorKind::usage, "'value' of 'constant' is 9.223372036854776e+18",
               [&] { constant(DType::i64, 0x1p63); });
}

BOOST_AUTO_TEST_CASE(constant_is_one_value_everywhere) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const TensorType declared{dtype, blocks};
    const Tensor out = run_op("constant", {}, {{"value", 0.1}}, declared);
    const std::vector<double> values(static_cast<std::size_t>(blocks.elements()), 0.1);
    BOOST_TEST((out == tensor_of(declared, values)));
    BOOST_TEST(same_for_every_team("constant", {}, {{"value", 0.1}}, declared));
  }
}

BOOST_AUTO_TEST_CASE(the_output_has_the_type_of_the_inputs) {
  const TensorType x{DType::f64, {4, 5}};
  for (const char* op : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
    BOOST_TEST((type_of(op, {x, x}) == x));
  }
  BOOST_TEST((type_of("scale", {x}, {{"alpha", 2.0}}) == x));
  for (const char* op : {"relu", "copy"}) BOOST_TEST((type_of(op, {x}) == x));
}

BOOST_AUTO_TEST_CASE(inputs_of_different_types_are_refused_by_name) {
  const TensorType a{DType::f32, {4, 5}};
  for (const char* op : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
    expect_error(ErrorKind::usage,
                 "the inputs are float32 [4, 5] and float32 [5, 4]; both must have the same shape, "
                 "or extents of 1 where they differ",
                 [&] {
                   type_of(op, {a, {DType::f32, {5, 4}}});
                 });
    expect_error(ErrorKind::usage, "the inputs are float32 [4, 5] and float64 [4, 5]", [&] {
      type_of(op, {a, {DType::f64, {4, 5}}});
    });
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_without_dimensions_can_be_declared) {
  for (const char* op : {"zeros", "uniform"}) BOOST_TEST((type_of(op, {}) == TensorType{}));
}

BOOST_AUTO_TEST_CASE(work_is_one_operation_an_element_and_every_tensor_moved_once) {
  const TensorType x{DType::f32, {10, 10}};
  for (const char* op : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
    BOOST_TEST(work_of(op, {x, x}).flops == 100);
    BOOST_TEST(work_of(op, {x, x}).bytes == 1200);
  }
  BOOST_TEST(work_of("scale", {x}, {{"alpha", 2.0}}).flops == 100);
  BOOST_TEST(work_of("relu", {x}).flops == 100);
  BOOST_TEST(work_of("relu", {x}).bytes == 800);
  BOOST_TEST(work_of("copy", {x}).flops == 0);
  BOOST_TEST(work_of("copy", {x}).bytes == 800);
  BOOST_TEST(work_of("zeros", {}, {}, x).flops == 0);
  BOOST_TEST(work_of("zeros", {}, {}, x).bytes == 400);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
