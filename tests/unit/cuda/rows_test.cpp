// Ops along an axis, and those that only take time, on the device and on the CPU.
#include "tests/support/expect_error.hpp"
#include "tests/unit/cuda/device_fixture.hpp"

#include <limits>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(cuda_rows)
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::int64_t length_of(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

// Sums are rounded in another order: the differences grow as those of a random walk.
void check_sum(const Tensor& x, std::int64_t axis) {
  const std::int64_t last = static_cast<std::int64_t>(x.type.shape.rank()) - 1;
  const std::int64_t extent = x.type.shape[static_cast<std::size_t>(axis < 0 ? last : axis)];
  check_close_on_device("sum", {x}, {{"axis", axis}}, std::sqrt(static_cast<double>(extent)));
}

// Rows with numbers that aren't finite, in several places.
Tensor special_rows(DType dtype) {
  return tensor_of({dtype, {5, 3}}, {nan, 1, 2, 1, nan, 2, -infinity, -infinity, -infinity, 1,
                                     infinity, 2, -infinity, 3, 4});
}

Tensor random_labels(Random& random, DType dtype, std::int64_t rows, std::int64_t classes) {
  std::vector<double> labels;
  for (std::int64_t row = 0; row < rows; ++row) {
    labels.push_back(static_cast<double>(between(random, 0, classes - 1)));
  }
  return tensor_of({dtype, {rows}}, labels);
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_and_maxima_are_taken_over_any_axis) {
  for_random_cases([](Random& random, DType dtype) {
    const Tensor x = random_tensor({dtype, random_shape(random)}, random.next());
    const auto axis = static_cast<std::int64_t>(random.below(x.type.shape.rank()));
    check_sum(x, axis);
    for (const char* op : {"max", "min", "argmax", "argmin"}) {
      BOOST_TEST(same_on_device(op, {x}, {{"axis", axis}, {"keep", true}}));
    }
  });
}

BOOST_AUTO_TEST_CASE(sums_and_maxima_of_integers_have_the_bits_of_the_cpu) {
  for_random_cases(integer_dtypes, [](Random& random, DType dtype) {
    const Tensor x = random_tensor({dtype, random_shape(random)}, random.next());
    const auto axis = static_cast<std::int64_t>(random.below(x.type.shape.rank()));
    for (const char* op : {"sum", "max", "min", "argmax", "argmin"}) {
      BOOST_TEST(same_on_device(op, {x}, {{"axis", axis}}));
    }
  });
}

// Of numbers from 0 to 3, many are equal.
BOOST_AUTO_TEST_CASE(the_first_of_equal_extremes_is_found_as_on_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const Shape shape = random_shape(random);
    std::vector<double> values(static_cast<std::size_t>(shape.elements()));
    for (double& v : values) v = static_cast<double>(random.below(4));
    const auto axis = static_cast<std::int64_t>(random.below(shape.rank()));
    for (const char* op : {"argmax", "argmin"}) {
      BOOST_TEST(same_on_device(op, {tensor_of({dtype, shape}, values)}, {{"axis", axis}}));
    }
  });
}

BOOST_AUTO_TEST_CASE(long_axes_are_reduced_in_parts) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Shape& shape :
         {Shape{100'001}, Shape{5'000, 3}, Shape{3'001, 40}, Shape{2, 2'500}}) {
      const Tensor x = random_tensor({dtype, shape}, 5);
      check_sum(x, 0);
      check_sum(x, -1);
      for (const char* op : {"max", "min", "argmax", "argmin"}) {
        BOOST_TEST(same_on_device(op, {x}, {{"axis", std::int64_t{0}}}));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_give_what_they_give_on_the_cpu) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = special_rows(dtype);
    const Tensor gain = tensor_of({dtype, {3}}, {1, 2, 3});
    for (const std::int64_t axis : {0, 1}) {
      check_close_on_device("sum", {x}, {{"axis", axis}});
      for (const char* op : {"max", "min", "argmax", "argmin"}) {
        BOOST_TEST(same_on_device(op, {x}, {{"axis", axis}}));
      }
    }
    check_close_on_device("softmax", {x});
    check_close_on_device("layer_norm", {x, gain, gain});
    for (std::int64_t row = 0; row < 5; ++row) {
      const Tensor one =
          run_op("slice", {x}, {{"begin", Integers{row, 0}}, {"end", Integers{row + 1, 3}}});
      const Tensor label = tensor_of({dtype, {1}}, {1});
      check_close_on_device("softmax_cross_entropy", {one, label});
      check_close_on_device("softmax_cross_entropy_grad", {one, label});
    }
  }
}

BOOST_AUTO_TEST_CASE(softmax_and_layer_norm_are_close_to_those_of_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const Shape shape = random_shape(random, 0);
    std::vector<double> values = doubles(random_tensor({dtype, shape}, random.next()));
    for (double& v : values) v *= 10;
    const Tensor x = tensor_of({dtype, shape}, values);
    const TensorType vector{dtype, {length_of(shape)}};
    const Tensor gain = random_tensor(vector, random.next());
    const Tensor bias = random_tensor(vector, random.next());
    check_close_on_device("softmax", {x}, {}, 1e-30);
    check_close_on_device("layer_norm", {x, gain, bias}, {{"epsilon", 0.01}});
  });
}

BOOST_AUTO_TEST_CASE(the_cross_entropy_and_its_gradient_are_close_to_those_of_the_cpu) {
  for_random_cases([](Random& random, DType dtype) {
    const std::int64_t rows = between(random, 1, 700);
    const std::int64_t classes = between(random, 1, 40);
    const Tensor logits = random_tensor({dtype, {rows, classes}}, random.next());
    const Tensor labels = random_labels(random, dtype, rows, classes);
    check_close_on_device("softmax_cross_entropy", {logits, labels});
    check_close_on_device("softmax_cross_entropy_grad", {logits, labels}, {},
                          1 / static_cast<double>(rows));
  });
}

BOOST_AUTO_TEST_CASE(the_first_label_that_is_no_class_fails_the_op) {
  const Tensor logits = random_tensor({DType::f64, {600, 3}}, 1);
  for (const double label : {-1.0, 3.0, 0.5, nan, infinity, 1e300}) {
    std::vector<double> labels(600, 2);
    labels[417] = labels[500] = label;
    for (const char* op : {"softmax_cross_entropy", "softmax_cross_entropy_grad"}) {
      expect_error(ErrorKind::failed, "the label of row 417 is no class", [&] {
        run_on_device(op, {logits, tensor<double>({600}, labels)});
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(elements_that_are_taken_and_added_to_are_those_of_the_cpu) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Tensor x = random_tensor({dtype, random_shape(random)}, random.next());
    const auto axis = static_cast<std::int64_t>(random.below(x.type.shape.rank()));
    const std::int64_t extent = x.type.shape[static_cast<std::size_t>(axis)];
    const Shape shape(random_extents(random, between(random, 0, 2), 30));
    const DType of_numbers = integer_dtypes[random.below(2)];
    const Tensor numbers = random_numbers(random, {of_numbers, shape}, extent);
    const Attrs attrs{{"axis", axis}};
    BOOST_TEST(same_on_device("take", {x, numbers}, attrs));
    const Tensor added = random_tensor(run_op("take", {x, numbers}, attrs).type, random.next());
    BOOST_TEST(same_on_device("index_add", {x, numbers, added}, attrs));
  });
}

// Sums of float32 depend on their order, which is that of the numbers.
BOOST_AUTO_TEST_CASE(what_is_added_to_an_element_is_added_by_one_thread) {
  Random random(1);
  std::vector<std::int64_t> numbers(500);
  for (std::int64_t& number : numbers) number = between(random, 0, 3);
  const Tensor x = random_tensor({DType::f32, {4, 300}}, 1);
  const Tensor added = random_tensor({DType::f32, {500, 300}}, 2);
  BOOST_TEST(same_on_device("index_add", {x, tensor<std::int64_t>({500}, numbers), added}));
}

BOOST_AUTO_TEST_CASE(the_first_number_that_no_element_has_fails_the_op) {
  const Tensor x = random_tensor({DType::f64, {600, 3}}, 1);
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t bad :
       {std::int64_t{-1}, std::int64_t{600}, Limits::max(), Limits::min()}) {
    std::vector<std::int64_t> numbers(700, 599);
    numbers[417] = numbers[500] = bad;
    const Tensor places = tensor<std::int64_t>({700}, numbers);
    const Tensor added = random_tensor({DType::f64, {700, 3}}, 2);
    constexpr auto message = "the element number at place 417 is out of range";
    expect_error(ErrorKind::failed, message, [&] { run_on_device("take", {x, places}); });
    expect_error(ErrorKind::failed, message, [&] {
      run_on_device("index_add", {x, places, added});
    });
  }
}

BOOST_AUTO_TEST_CASE(spin_and_sleep_give_the_values_of_the_cpu) {
  Random random(7);
  for (std::int64_t count : {1, 5, 64, 1000}) {
    std::vector<Tensor> inputs = {random_tensor({DType::f32, {count}}, random.next()),
                                  random_tensor({DType::f64, {count}}, random.next()),
                                  run_op("constant", {}, {{"value", 3.0}}, {DType::i32, {count}}),
                                  run_op("constant", {}, {{"value", -3.0}}, {DType::i64, {count}})};
    for (;; inputs.pop_back()) {
      BOOST_TEST(same_on_device("spin", inputs, {{"iterations", std::int64_t{1000}}}));
      BOOST_TEST(same_on_device("sleep", inputs, {{"duration", Duration(50'000)}}));
      if (inputs.empty()) break;
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
