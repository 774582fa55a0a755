// add, sub, mul, scale, relu, copy and zeros.
#include "tests/support/expect_error.hpp"
#include "tests/support/op_fixture.hpp"

#include <cmath>
#include <limits>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

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

}  // namespace

BOOST_AUTO_TEST_SUITE(elementwise)

BOOST_AUTO_TEST_CASE(add_sub_and_mul_agree_with_a_plain_loop) {
  check_binary<float>("add", DType::f32, [](float a, float b) { return a + b; });
  check_binary<float>("sub", DType::f32, [](float a, float b) { return a - b; });
  check_binary<float>("mul", DType::f32, [](float a, float b) { return a * b; });
  check_binary<double>("add", DType::f64, [](double a, double b) { return a + b; });
  check_binary<double>("sub", DType::f64, [](double a, double b) { return a - b; });
  check_binary<double>("mul", DType::f64, [](double a, double b) { return a * b; });
}

BOOST_AUTO_TEST_CASE(scale_multiplies_by_alpha) {
  BOOST_TEST((run_op("scale", {tensor<double>({3}, {1, -2, 0.5})}, {-0.5}).values<double>() ==
              std::vector<double>{-0.5, 1, -0.25}));
  const Tensor x = random_tensor({DType::f32, blocks}, 3);
  const Tensor out = run_op("scale", {x}, {0.1});
  BOOST_TEST(out.at<float>(40'000) == 0.1F * x.at<float>(40'000));
  BOOST_TEST(same_for_every_team("scale", {x}, {0.1}));
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
  BOOST_TEST(op_kind("copy").moves_data);
}

BOOST_AUTO_TEST_CASE(zeros_makes_the_declared_type_all_zero) {
  const TensorType declared{DType::f64, blocks};
  const Tensor out = run_op("zeros", {}, {}, declared);
  BOOST_TEST((out.type == declared));
  BOOST_TEST((out.bytes == std::vector<std::byte>(declared.bytes())));
  BOOST_TEST(same_for_every_team("zeros", {}, {}, declared));
}

BOOST_AUTO_TEST_CASE(the_output_has_the_type_of_the_inputs) {
  const TensorType x{DType::f64, {4, 5}};
  for (const char* op : {"add", "sub", "mul"}) BOOST_TEST((type_of(op, {x, x}) == x));
  BOOST_TEST((type_of("scale", {x}, {2.0}) == x));
  for (const char* op : {"relu", "copy"}) BOOST_TEST((type_of(op, {x}) == x));
}

BOOST_AUTO_TEST_CASE(inputs_of_different_types_are_refused_by_name) {
  const TensorType a{DType::f32, {4, 5}};
  for (const char* op : {"add", "sub", "mul"}) {
    expect_error(ErrorKind::usage,
                 "the inputs are float32 [4, 5] and float32 [5, 4]; both must have the same type "
                 "and shape",
                 [&] {
                   type_of(op, {a, {DType::f32, {5, 4}}});
                 });
    expect_error(ErrorKind::usage, "the inputs are float32 [4, 5] and float64 [4, 5]", [&] {
      type_of(op, {a, {DType::f64, {4, 5}}});
    });
  }
}

BOOST_AUTO_TEST_CASE(a_declared_shape_must_be_given) {
  for (const char* op : {"zeros", "uniform"}) {
    expect_error(ErrorKind::usage, "no shape is given",
                 [&] { type_of(op, {}, {std::int64_t{0}}); });
  }
}

BOOST_AUTO_TEST_CASE(work_is_one_operation_an_element_and_every_tensor_moved_once) {
  const TensorType x{DType::f32, {10, 10}};
  for (const char* op : {"add", "sub", "mul"}) {
    BOOST_TEST(work_of(op, {x, x}).flops == 100);
    BOOST_TEST(work_of(op, {x, x}).bytes == 1200);
  }
  BOOST_TEST(work_of("scale", {x}, {2.0}).flops == 100);
  BOOST_TEST(work_of("relu", {x}).flops == 100);
  BOOST_TEST(work_of("relu", {x}).bytes == 800);
  BOOST_TEST(work_of("copy", {x}).flops == 0);
  BOOST_TEST(work_of("copy", {x}).bytes == 800);
  BOOST_TEST(work_of("zeros", {}, {}, x).flops == 0);
  BOOST_TEST(work_of("zeros", {}, {}, x).bytes == 400);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
