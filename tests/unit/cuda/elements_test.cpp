// Ops that compute each element by itself, on the device and on the CPU.
#include "tests/unit/cuda/device_fixture.hpp"

#include <array>
#include <limits>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(cuda_elements)
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

constexpr std::array arithmetic{"add",     "sub",     "mul",           "div",  "maximum",
                                "minimum", "greater", "greater_equal", "equal"};

Tensor random_values(Random& random, TensorType type, double scale) {
  std::vector<double> values = doubles(random_tensor(type, random.next()));
  for (double& v : values) v *= scale;
  return tensor_of(type, values);
}

Tensor special_values(DType dtype) {
  return tensor_of({dtype, {7}}, {-infinity, -1.5, -0.0, 0.0, 1.5, infinity, nan});
}

// Some extents of `shape` as 1, and some of the first axes left out.
Shape narrowed(Random& random, const Shape& shape) {
  std::vector<std::int64_t> extents;
  for (std::size_t d = random.below(shape.rank()); d < shape.rank(); ++d) {
    extents.push_back(random.below(2) == 0 ? 1 : shape[d]);
  }
  return Shape(extents);
}

}  // namespace

BOOST_AUTO_TEST_CASE(made_values_have_the_bits_of_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const TensorType type{dtype, random_shape(random)};
    const std::int64_t seed = between(random, 0, 1000);
    BOOST_TEST(same_on_device("uniform", {}, {{"seed", seed}}, type));
    BOOST_TEST(same_on_device("zeros", {}, {}, type));
    BOOST_TEST(same_on_device("constant", {}, {{"value", random.unit()}}, type));
    BOOST_TEST(same_on_device("arange", {}, {}, type));
    const TensorType integers{dtype == DType::f32 ? DType::i32 : DType::i64, type.shape};
    BOOST_TEST(same_on_device("zeros", {}, {}, integers));
    BOOST_TEST(same_on_device("constant", {}, {{"value", -3.0}}, integers));
    BOOST_TEST(same_on_device("arange", {}, {}, integers));
  });
}

BOOST_AUTO_TEST_CASE(a_count_that_fills_no_pack_of_elements_is_computed_to_its_end) {
  for (std::int64_t count = 1; count < 20; ++count) {
    const Tensor x = random_tensor({DType::f32, {count}}, static_cast<std::uint64_t>(count));
    BOOST_TEST(same_on_device("relu", {x}));
  }
}

BOOST_AUTO_TEST_CASE(arithmetic_with_and_without_broadcasting_has_the_bits_of_the_cpu) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Shape whole = random_shape(random);
    const Shape part = narrowed(random, whole);
    for (const char* op : arithmetic) {
      if (!op_kind(op).takes_integers && is_integer(dtype)) continue;
      const Tensor a = random_tensor({dtype, whole}, random.next());
      const Tensor b = random_tensor({dtype, whole}, random.next());
      const Tensor c = random_tensor({dtype, part}, random.next());
      BOOST_TEST(same_on_device(op, {a, b}));
      BOOST_TEST(same_on_device(op, {a, c}));
      BOOST_TEST(same_on_device(op, {c, a}));
    }
  });
}

BOOST_AUTO_TEST_CASE(both_tensors_may_be_repeated_along_other_axes) {
  const Tensor column = random_tensor({DType::f32, {300, 1}}, 1);
  const Tensor row = random_tensor({DType::f32, {200}}, 2);
  BOOST_TEST(same_on_device("sub", {column, row}));
  BOOST_TEST(same_on_device("sub", {tensor<float>({}, {7}), row}));
}

BOOST_AUTO_TEST_CASE(arithmetic_of_special_values_has_the_bits_of_the_cpu) {
  for (const DType dtype : floating_dtypes) {
    const Tensor row = special_values(dtype);
    const Tensor column = run_op("reshape", {row}, {{"shape", Integers{-1, 1}}});
    for (const char* op : arithmetic) {
      BOOST_TEST(same_on_device(op, {row, column}));
    }
  }
}

BOOST_AUTO_TEST_CASE(square_roots_and_reciprocals_have_the_bits_of_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const TensorType type{dtype, random_shape(random)};
    const Attrs numerator{{"numerator", random.unit()}};
    BOOST_TEST(same_on_device("reciprocal", {random_values(random, type, 1e10)}, numerator));
    BOOST_TEST(same_on_device("reciprocal", {special_values(dtype)}, numerator));
    BOOST_TEST(
        same_on_device("sqrt", {random_values(random, {dtype, random_shape(random)}, 1e10)}));
    BOOST_TEST(same_on_device("sqrt", {special_values(dtype)}));
  });
}

BOOST_AUTO_TEST_CASE(multiples_have_the_bits_of_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const TensorType type{dtype, random_shape(random, 0)};
    const Tensor x = random_tensor(type, random.next());
    const Tensor y = random_tensor(type, random.next());
    const Attrs alpha{{"alpha", 2 * random.unit() - 1}};
    BOOST_TEST(same_on_device("scale", {x}, alpha));
    BOOST_TEST(same_on_device("scale", {special_values(dtype)}, alpha));
    BOOST_TEST(same_on_device(
        "scale", {x}, {{"alpha", random.unit()}, {"divisor", 3.0}, {"shift", random.unit()}}));
    const TensorType integers{dtype == DType::f32 ? DType::i32 : DType::i64, type.shape};
    BOOST_TEST(same_on_device("scale", {random_tensor(integers, random.next())},
                              {{"alpha", -5.0}, {"shift", 1e9}}));
    BOOST_TEST(same_on_device("axpy", {x, y}, alpha));
  });
}

BOOST_AUTO_TEST_CASE(choices_and_absolute_values_have_the_bits_of_the_cpu) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Shape whole = random_shape(random);
    const Tensor a = random_tensor({dtype, whole}, random.next());
    const Tensor b = random_tensor({dtype, whole}, random.next());
    const Tensor condition = run_op("greater", {a, b});
    const Tensor part = random_tensor({dtype, narrowed(random, whole)}, random.next());
    const Tensor part_of_condition =
        run_op("greater", {part, random_tensor(part.type, random.next())});
    BOOST_TEST(same_on_device("where", {condition, a, b}));
    BOOST_TEST(same_on_device("where", {condition, part, b}));
    BOOST_TEST(same_on_device("where", {part_of_condition, a, part}));
    BOOST_TEST(same_on_device("abs", {a}));
  });
  for (const DType dtype : floating_dtypes) {
    const Tensor special = special_values(dtype);
    BOOST_TEST(same_on_device("where", {special, special, random_tensor(special.type, 1)}));
    BOOST_TEST(same_on_device("abs", {special}));
  }
}

BOOST_AUTO_TEST_CASE(squares_have_the_bits_of_the_cpu_and_other_powers_are_close) {
  for_random_cases([](Random& random, DType dtype) {
    const Tensor x = random_values(random, {dtype, random_shape(random)}, 10);
    BOOST_TEST(same_on_device("pow", {x}, {{"exponent", 2.0}}));
    check_close_on_device("pow", {x}, {{"exponent", 3.0}});
    check_close_on_device("pow", {x}, {{"exponent", -0.3}});
  });
}

BOOST_AUTO_TEST_CASE(relu_and_its_gradient_have_the_bits_of_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const TensorType type{dtype, random_shape(random)};
    const Tensor x = random_tensor(type, random.next());
    BOOST_TEST(same_on_device("relu", {x}));
    BOOST_TEST(same_on_device("relu_grad", {random_tensor(type, random.next()), x}));
    const Tensor special = special_values(dtype);
    BOOST_TEST(same_on_device("relu", {special}));
    BOOST_TEST(same_on_device("relu_grad", {special, special}));
  });
}

// The numbers reach beyond the ranges of the integers.
BOOST_AUTO_TEST_CASE(casts_have_the_bits_of_the_cpu) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const TensorType type{dtype, random_shape(random)};
    Tensor x = random_tensor(type, random.next());
    if (!is_integer(dtype)) {
      std::vector<double> values = doubles(x);
      for (double& v : values) v = std::ldexp(v, static_cast<int>(random.below(80)));
      x = tensor_of(type, values);
    }
    for (const DType to : all_dtypes) {
      const Attrs attrs{{"dtype", std::string(to_string(to))}};
      BOOST_TEST(same_on_device("cast", {x}, attrs));
      if (!is_integer(dtype)) BOOST_TEST(same_on_device("cast", {special_values(dtype)}, attrs));
    }
  });
}

BOOST_AUTO_TEST_CASE(functions_are_close_to_those_of_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const TensorType type{dtype, random_shape(random)};
    const Tensor x = random_values(random, type, 20);
    constexpr double tiny = 1e-30;
    check_close_on_device("exp", {x}, {}, tiny);
    check_close_on_device("tanh", {x}, {}, tiny);
    check_close_on_device("sigmoid", {x}, {}, tiny);
    check_close_on_device("sin", {x}, {}, 1);
    check_close_on_device("cos", {x}, {}, 1);
    check_close_on_device("gelu", {x});
    check_close_on_device("log", {run_op("exp", {x})}, {}, 0.01);
    for (const char* op : {"exp", "tanh", "sigmoid", "sin", "cos", "gelu", "log"}) {
      check_close_on_device(op, {special_values(dtype)});
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
