// softmax, softmax_cross_entropy with its gradient, and layer_norm.
#include "tests/support/expect_error.hpp"
#include "tests/support/op_cases.hpp"

#include <cmath>
#include <limits>
#include <numbers>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(rows)
namespace {

using Values = std::vector<double>;

std::size_t row_length(const Tensor& x) {
  return static_cast<std::size_t>(x.type.shape[x.type.shape.rank() - 1]);
}

// Logits up to 30, of which exp is taken.
Tensor logits_of(Random& random, TensorType type) {
  Values values = doubles(random_tensor(type, random.next()));
  for (double& v : values) v *= 30;
  return tensor_of(type, values);
}

Values softmax_of(const Values& x, std::size_t length) {
  Values result;
  for (std::size_t first = 0; first < x.size(); first += length) {
    double sum = 0;
    for (std::size_t i = first; i < first + length; ++i) sum += std::exp(x[i]);
    for (std::size_t i = first; i < first + length; ++i) result.push_back(std::exp(x[i]) / sum);
  }
  return result;
}

double loss_of(const Values& logits, const Values& labels) {
  const std::size_t classes = logits.size() / labels.size();
  const Values shares = softmax_of(logits, classes);
  double sum = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    sum -= std::log(shares[row * classes + static_cast<std::size_t>(labels[row])]);
  }
  return sum / static_cast<double>(labels.size());
}

struct Predictions {
  Tensor logits;
  Tensor labels;

  Predictions(Random& random, DType dtype, std::int64_t rows, std::int64_t classes)
      : logits(logits_of(random, {dtype, {rows, classes}})) {
    Values numbers;
    for (std::int64_t row = 0; row < rows; ++row) {
      numbers.push_back(static_cast<double>(between(random, 0, classes - 1)));
    }
    labels = tensor_of({dtype, {rows}}, numbers);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_single_number_without_dimensions_is_a_row) {
  const Tensor x = tensor<float>({}, {2.5F});
  BOOST_TEST((run_op("softmax", {x}) == tensor<float>({}, {1})));
  const Tensor seven = tensor<float>({1}, {7});
  BOOST_TEST((run_op("layer_norm", {x, seven, seven}) == tensor<float>({}, {7})));
}

BOOST_AUTO_TEST_CASE(softmax_divides_each_exponential_by_the_sum_of_its_row) {
  for_random_cases([](Random& random, DType dtype) {
    const Tensor x = logits_of(random, {dtype, random_shape(random)});
    check_close(run_op("softmax", {x}), softmax_of(doubles(x), row_length(x)), 500);
    BOOST_TEST(same_for_every_team("softmax", {x}));
  });
}

BOOST_AUTO_TEST_CASE(softmax_of_large_numbers_does_not_overflow) {
  const Tensor out = run_op("softmax", {tensor<float>({2, 2}, {5000, 5000, -5000, 5000})});
  BOOST_TEST((out.values<float>() == std::vector<float>{0.5, 0.5, 0, 1}));
}

BOOST_AUTO_TEST_CASE(softmax_gives_nothing_to_what_a_mask_leaves_out) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const float mask : {-100.0F, -1e9F, -inf}) {
    std::vector<float> row(600, mask);
    row[7] = row[500] = 2;
    const Tensor out = run_op("softmax", {tensor<float>({1, 600}, row)});
    for (std::size_t i = 0; i < row.size(); ++i) {
      const float expected = row[i] == mask ? 0.0F : 0.5F;
      BOOST_REQUIRE(std::abs(out.at<float>(i) - expected) < 1e-30F);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_cross_entropy_is_the_mean_of_minus_the_logarithms_at_the_labels) {
  for_random_cases([](Random& random, DType dtype) {
    const Predictions p(random, dtype, between(random, 1, 5000), between(random, 1, 40));
    const Tensor loss = run_op("softmax_cross_entropy", {p.logits, p.labels});
    BOOST_TEST((loss.type == TensorType{dtype, {1}}));
    check_close(loss, {loss_of(doubles(p.logits), doubles(p.labels))}, 100);
    BOOST_TEST(same_for_every_team("softmax_cross_entropy", {p.logits, p.labels}));
    BOOST_TEST(same_for_every_team("softmax_cross_entropy_grad", {p.logits, p.labels}));
  });
}

BOOST_AUTO_TEST_CASE(the_cross_entropy_of_large_logits_keeps_its_digits) {
  const Tensor loss = run_op("softmax_cross_entropy",
                             {tensor<float>({1, 2}, {1e8F, 1e8F}), tensor<float>({1}, {0})});
  check_close(loss, {std::numbers::ln2}, 4);
}

BOOST_AUTO_TEST_CASE(the_gradient_of_the_cross_entropy_agrees_with_finite_differences) {
  for_random_cases([](Random& random, DType dtype) {
    const Predictions p(random, dtype, between(random, 1, 12), between(random, 1, 12));
    const Values expected = numeric_gradient(doubles(p.logits), [&](const Values& logits) {
      return loss_of(logits, doubles(p.labels));
    });
    const Tensor gradient = run_op("softmax_cross_entropy_grad", {p.logits, p.labels});
    check_close(gradient, expected, dtype == DType::f32 ? 20 : 1e7);
  });
}

BOOST_AUTO_TEST_CASE(labels_that_are_no_class_fail_the_op) {
  const Tensor logits = random_tensor({DType::f64, {2, 3}}, 1);
  for (const double label : {-1.0, 3.0, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    for (const char* op : {"softmax_cross_entropy", "softmax_cross_entropy_grad"}) {
      expect_error(ErrorKind::failed, "labels are whole numbers from 0 to 2", [&] {
        run_op(op, {logits, tensor<double>({2}, {0, label})});
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(logits_and_labels_that_do_not_fit_are_refused_with_both_types) {
  for (const char* op : {"softmax_cross_entropy", "softmax_cross_entropy_grad"}) {
    const auto refused = [&](const char* text, const TensorType& labels) {
      expect_error(ErrorKind::usage, text, [&] { type_of(op, {{DType::f32, {4, 3}}, labels}); });
    };
    refused("the inputs are float32 [4, 3] and float32 [3]; the first must have a row",
            {DType::f32, {3}});
    refused("float32 [4, 3] and float32 [4, 3]", {DType::f32, {4, 3}});
    refused("both must have the same element type", {DType::f64, {4}});
  }
}

BOOST_AUTO_TEST_CASE(layer_norm_shifts_and_scales_each_row) {
  for_random_cases([](Random& random, DType dtype) {
    const Tensor x = random_tensor({dtype, random_shape(random)}, random.next());
    const TensorType vector{dtype, {static_cast<std::int64_t>(row_length(x))}};
    const Tensor gain = random_tensor(vector, random.next());
    const Tensor bias = random_tensor(vector, random.next());
    const double epsilon = 0.01;
    const Values in = doubles(x);
    const Values gains = doubles(gain);
    const Values biases = doubles(bias);
    const auto length = row_length(x);
    Values expected;
    for (std::size_t first = 0; first < in.size(); first += length) {
      double mean = 0;
      double variance = 0;
      for (std::size_t i = 0; i < length; ++i) mean += in[first + i];
      mean /= static_cast<double>(length);
      for (std::size_t i = 0; i < length; ++i) variance += std::pow(in[first + i] - mean, 2);
      variance /= static_cast<double>(length);
      for (std::size_t i = 0; i < length; ++i) {
        const double normal = (in[first + i] - mean) / std::sqrt(variance + epsilon);
        expected.push_back(normal * gains[i] + biases[i]);
      }
    }
    check_close(run_op("layer_norm", {x, gain, bias}, {{"epsilon", epsilon}}), expected, 500);
    BOOST_TEST(same_for_every_team("layer_norm", {x, gain, bias}));
  });
}

// The mean of the squares minus the square of the mean would be 0 or worse.
BOOST_AUTO_TEST_CASE(layer_norm_keeps_its_digits_far_from_0) {
  const Tensor x = tensor<float>({1, 4}, {10'000, 10'001, 10'002, 10'003});
  const Tensor out =
      run_op("layer_norm", {x, tensor<float>({4}, {1, 1, 1, 1}), tensor<float>({4}, {0, 0, 0, 0})},
             {{"epsilon", 0.0}});
  const double root = std::sqrt(1.25);
  check_close(out, {-1.5 / root, -0.5 / root, 0.5 / root, 1.5 / root}, 4);
}

BOOST_AUTO_TEST_CASE(layer_norm_keeps_its_digits_in_very_long_rows) {
  const std::int64_t length = 1 << 20;
  std::vector<float> values(static_cast<std::size_t>(length));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 9999.0F : 10001.0F;
  const Tensor x = tensor<float>(Shape{length}, values);
  const Tensor ones = tensor<float>(Shape{length}, std::vector<float>(values.size(), 1));
  const Tensor zeros = tensor<float>(Shape{length}, std::vector<float>(values.size(), 0));
  const std::vector<float> out = run_op("layer_norm", {x, ones, zeros}).values<float>();
  BOOST_TEST(std::abs(out[0] + 1) < 0.01);
  BOOST_TEST(std::abs(out[1] - 1) < 0.01);
}

BOOST_AUTO_TEST_CASE(layer_norm_refuses_an_epsilon_that_is_negative_or_no_number) {
  for (const double epsilon : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    expect_error(ErrorKind::usage, "'epsilon' of 'layer_norm' is ", [&] {
      type_of("layer_norm", {{DType::f32, {3}}, {DType::f32, {3}}, {DType::f32, {3}}},
              {{"epsilon", epsilon}});
    });
  }
}

BOOST_AUTO_TEST_CASE(layer_norm_refuses_vectors_of_another_length) {
  expect_error(
      ErrorKind::usage,
      "the inputs are float32 [4, 3], float32 [3] and float32 [4]; the second and the "
      "third must be float32 [3]",
      [] {
        type_of("layer_norm", {{DType::f32, {4, 3}}, {DType::f32, {3}}, {DType::f32, {4}}});
      });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
