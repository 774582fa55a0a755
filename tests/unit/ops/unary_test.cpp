// reciprocal, exp, log, sqrt, sin, cos, tanh, sigmoid, pow, abs, gelu, relu and its gradient.
#include "tests/support/op_cases.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(unary)
namespace {

// Values in [-9, 9), or above 0 for log and sqrt.
Tensor wide_tensor(Random& random, DType dtype, bool positive) {
  const TensorType type{dtype, random_shape(random)};
  std::vector<double> values = doubles(random_tensor(type, random.next()));
  for (double& v : values) v = positive ? std::fabs(v) + 1e-3 : 9 * v;
  return tensor_of(type, values);
}

void check_function(std::string_view op, double (*expected)(double), double units,
                    const Attrs& attrs = {}) {
  const bool needs_positive = op == "log" || op == "sqrt" || op == "pow";
  for_random_cases([&](Random& random, DType dtype) {
    const Tensor x = wide_tensor(random, dtype, needs_positive);
    std::vector<double> values = doubles(x);
    for (double& v : values) v = expected(v);
    check_close(run_op(op, {x}, attrs), values, units);
    BOOST_TEST(same_for_every_team(op, {x}, attrs));
  });
}

// The normal distribution function as an integral, by Simpson's rule.
double normal_share_below(double x) {
  constexpr int steps = 2000;
  const double h = x / steps;
  const auto density = [](double t) {
    return std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi);
  };
  double sum = density(0) + density(x);
  for (int i = 1; i < steps; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(i * h);
  return 0.5 + sum * h / 3;
}

// From where e^x is 0 to where it is infinite, in steps of 1/8.
template <class T>
void check_ends_of_exp(DType dtype, double lowest, double highest) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x{Limits::quiet_NaN(), -Limits::infinity(), Limits::infinity(), Limits::lowest(),
                   Limits::max()};
  for (double v = lowest; v <= highest; v += 0.125) x.push_back(static_cast<T>(v));
  const Tensor out = run_op("exp", {tensor<T>({static_cast<std::int64_t>(x.size())}, x)});
  BOOST_TEST((out.type.dtype == dtype));
  BOOST_TEST(std::isnan(out.at<T>(0)));
  for (std::size_t i = 1; i < x.size(); ++i) {
    const long double expected = std::exp(static_cast<long double>(x[i]));
    const T found = out.at<T>(i);
    if (expected > Limits::max()) {
      BOOST_TEST(found == Limits::infinity(), "e^" << x[i] << " is " << found);
      continue;
    }
    const long double error = std::abs(static_cast<long double>(found) - expected);
    BOOST_TEST(error <= 10 * Limits::epsilon() * expected + Limits::denorm_min(),
               "e^" << x[i] << " is " << found);
  }
}

// Relative to the values, and often enough for the vector version, which takes several at a time.
void check_digits(const std::string& op, const std::vector<double>& numbers, double units,
                  long double (*exact)(long double)) {
  std::vector<double> repeated;
  for (int i = 0; i < 16; ++i) repeated.insert(repeated.end(), numbers.begin(), numbers.end());
  const Shape shape{static_cast<std::int64_t>(repeated.size())};
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = tensor_of({dtype, shape}, repeated);
    const std::vector<double> rounded = doubles(x);
    const std::vector<double> found = doubles(run_op(op, {x}));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto expected = static_cast<double>(exact(rounded[i]));
      BOOST_TEST(std::abs(found[i] - expected) <= units * epsilon_of(dtype) * std::abs(expected),
                 op << " of " << rounded[i] << " is " << found[i]);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(exp_agrees_with_long_double_to_both_ends_of_its_range) {
  check_ends_of_exp<float>(DType::f32, -120, 100);
  check_ends_of_exp<double>(DType::f64, -800, 750);
}

BOOST_AUTO_TEST_CASE(powers_agree_with_long_double) {
  check_function("pow", [](double x) { return static_cast<double>(std::pow(x * 1.0L, 1.5L)); }, 4,
                 {{"exponent", 1.5}});
  check_function("pow", [](double x) { return static_cast<double>(std::pow(x * 1.0L, -2.5L)); }, 4,
                 {{"exponent", -2.5}});
}

// Often enough for the vector version, which takes several at a time.
BOOST_AUTO_TEST_CASE(powers_of_special_numbers_are_those_of_the_c_library) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> bases{
      -2, -0.0, 0.0, 3, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 1e-310};
  std::vector<double> x;
  for (int i = 0; i < 8; ++i) x.insert(x.end(), bases.begin(), bases.end());
  for (const double exponent : {2.0, 3.0, 0.0, 0.5, -1.0, -2.5}) {
    const Tensor out = run_op("pow", {tensor<double>({64}, x)}, {{"exponent", exponent}});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = std::pow(x[i], exponent);
      const double found = out.at<double>(i);
      const bool is_same = std::isnan(expected) ? std::isnan(found) : found == expected;
      const bool is_near = std::abs(found - expected) <= 1e-15 * std::abs(expected);
      BOOST_TEST((is_same || is_near), x[i] << " to the power of " << exponent << " is " << found);
    }
  }
}

BOOST_AUTO_TEST_CASE(abs_drops_the_sign_of_zeros_and_infinities_too) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor out = run_op("abs", {tensor<double>({4}, {-1.5, -0.0, -infinity, 2})});
  BOOST_TEST((out.values<double>() == std::vector<double>{1.5, 0, infinity, 2}));
  BOOST_TEST(!std::signbit(out.at<double>(1)));
}

BOOST_AUTO_TEST_CASE(functions_agree_with_long_double) {
  check_function(
      "exp", [](double x) { return static_cast<double>(std::exp(x * 1.0L)); }, 4);
  check_function(
      "log", [](double x) { return static_cast<double>(std::log(x * 1.0L)); }, 4);
  check_function(
      "sqrt", [](double x) { return static_cast<double>(std::sqrt(x * 1.0L)); }, 1);
  check_function(
      "sin", [](double x) { return static_cast<double>(std::sin(x * 1.0L)); }, 4);
  check_function(
      "cos", [](double x) { return static_cast<double>(std::cos(x * 1.0L)); }, 4);
  check_function(
      "sigmoid", [](double x) { return static_cast<double>(1 / (1 + std::exp(-x * 1.0L))); }, 4);
  check_function(
      "tanh", [](double x) { return static_cast<double>(std::tanh(x * 1.0L)); }, 4);
}

BOOST_AUTO_TEST_CASE(the_sigmoid_of_numbers_far_below_0_keeps_its_digits) {
  check_digits("sigmoid", {-80, -40, -20, -3, 0, 20, 90}, 12,
               [](long double x) { return 1 / (1 + std::exp(-x)); });
  BOOST_TEST(run_op("sigmoid", {tensor<double>({1}, {-1000})}).at<double>(0) == 0);
}

BOOST_AUTO_TEST_CASE(sines_and_cosines_have_their_digits_near_0_and_after_many_turns) {
  const std::vector<double> angles{1e-6, -1e-3, 0.1, 1.5, 3.1, -6.2, 100, 1e4, -12345};
  check_digits("sin", angles, 4, [](long double x) { return std::sin(x); });
  check_digits("cos", angles, 4, [](long double x) { return std::cos(x); });
}

BOOST_AUTO_TEST_CASE(a_reciprocal_is_the_nearest_number) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = random_tensor({dtype, {3, 1000}}, 1);
    std::vector<double> expected;
    for (const double v : doubles(x)) expected.push_back(static_cast<double>(3.0L / v));
    check_close(run_op("reciprocal", {x}, {{"numerator", 3.0}}), expected, 0.5);
    BOOST_TEST(doubles(run_op("reciprocal", {x})) ==
                   doubles(run_op("reciprocal", {x}, {{"numerator", 1.0}})),
               boost::test_tools::per_element());
    BOOST_TEST(same_for_every_team("reciprocal", {random_tensor({dtype, {3, 40'000}}, 1)}));
  }
}

BOOST_AUTO_TEST_CASE(infinities_and_nans_are_what_the_c_library_makes_of_them) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {DType::f32, DType::f64}) {
    // Nine values: some are computed together, the last one alone.
    const Tensor x = tensor_of({dtype, {9}}, {inf, -inf, nan, 1e6, 0, -1, -1e6, 1, inf});
    const auto check = [&](const char* op, const std::vector<double>& expected) {
      const std::vector<double> out = doubles(run_op(op, {x}));
      for (std::size_t i = 0; i < expected.size(); ++i) {
        BOOST_TEST(std::isnan(out[i]) == std::isnan(expected[i]), op << " of " << i);
        if (std::isinf(expected[i])) BOOST_TEST(out[i] == expected[i], op << " of " << i);
      }
    };
    check("reciprocal", {0, 0, nan, 1e-6, inf, -1, -1e-6, 1, 0});
    check("exp", {inf, 0, nan, inf, 1, 0, 0, 3, inf});
    check("log", {inf, nan, nan, 14, -inf, nan, nan, 0, inf});
    check("sqrt", {inf, nan, nan, 1e3, 0, nan, nan, 1, inf});
    check("sin", {nan, nan, nan, 0, 0, -1, 0, 1, nan});
    check("cos", {nan, nan, nan, 1, 1, 1, 1, 1, nan});
    check("sigmoid", {1, 0, nan, 1, 0.5, 0.3, 0, 0.7, 1});
    check("tanh", {1, -1, nan, 1, 0, -1, -1, 1, 1});
    check("gelu", {inf, nan, nan, 1e6, 0, 0, 0, 1, inf});
  }
}

BOOST_AUTO_TEST_CASE(gelu_is_x_times_the_share_of_a_normal_distribution_below_x) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = tensor_of({dtype, {7}}, {-6, -2, -0.5, 0, 0.25, 1, 5});
    std::vector<double> expected;
    for (const double v : doubles(x)) expected.push_back(v * normal_share_below(v));
    check_close(run_op("gelu", {x}), expected, dtype == DType::f32 ? 4 : 1e4);
    BOOST_TEST(same_for_every_team("gelu", {random_tensor({dtype, {3, 40'000}}, 1)}));
  }
}

BOOST_AUTO_TEST_CASE(the_gradient_of_relu_passes_what_relu_passes) {
  for_random_cases([](Random& random, DType dtype) {
    const TensorType type{dtype, random_shape(random)};
    const Tensor g = random_tensor(type, random.next());
    const Tensor x = random_tensor(type, random.next());
    const Tensor out = run_op("relu_grad", {g, x});
    std::vector<double> expected = doubles(g);
    const std::vector<double> at = doubles(x);
    for (std::size_t i = 0; i < at.size(); ++i) expected[i] *= at[i] > 0 ? 1 : 0;
    check_close(out, expected, 0);
    BOOST_TEST(same_for_every_team("relu_grad", {g, x}));
  });
}

// sum of w[i] * relu(x[i]), whose gradient by x is relu_grad(w, x)
BOOST_AUTO_TEST_CASE(the_gradient_of_relu_agrees_with_finite_differences) {
  const TensorType type{DType::f64, {4, 5}};
  const Tensor w = random_tensor(type, 1);
  const Tensor x = random_tensor(type, 2);
  const auto weighted = [&](const std::vector<double>& at) {
    const std::vector<double> y = doubles(run_op("relu", {tensor_of(type, at)}));
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += doubles(w)[i] * y[i];
    return sum;
  };
  check_close(run_op("relu_grad", {w, x}), numeric_gradient(doubles(x), weighted), 1e6);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
