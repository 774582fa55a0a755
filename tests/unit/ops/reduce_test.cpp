// sum, max and min over an axis, argmax and argmin.
#include "tests/support/expect_error.hpp"
#include "tests/support/op_cases.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(reduce)
namespace {

// Reduces with a plain loop.
std::vector<double> reduced(const Tensor& x, std::size_t axis, double start,
                            const std::function<double(double, double)>& combine) {
  const Shape& shape = x.type.shape;
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < shape.rank(); ++d) extents.push_back(d == axis ? 1 : shape[d]);
  const Shape kept(extents);
  std::vector<double> result(static_cast<std::size_t>(kept.elements()), start);
  IndexCounter at(shape);
  for (const double v : doubles(x)) {
    std::vector<std::int64_t> index = at.index();
    index[axis] = 0;
    double& r = result[place_of(kept, index)];
    r = combine(r, v);
    at.next();
  }
  return result;
}

// Whether the elements at these places along the axis are those of `extremes`, and none before them
// is as large or small.
void check_places(const Tensor& x, std::size_t axis, const Tensor& places,
                  const std::vector<double>& extremes) {
  BOOST_REQUIRE((places.type.dtype == DType::i64));
  const Shape& shape = x.type.shape;
  const std::vector<double> values = doubles(x);
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < shape.rank(); ++d) extents.push_back(d == axis ? 1 : shape[d]);
  const Shape kept(extents);
  BOOST_REQUIRE((places.type.shape == kept));
  IndexCounter at(kept);
  for (std::size_t i = 0; i < extremes.size(); ++i, at.next()) {
    std::vector<std::int64_t> index = at.index();
    const std::int64_t place = places.at<std::int64_t>(i);
    BOOST_REQUIRE((place >= 0 && place < shape[axis]));
    index[axis] = place;
    BOOST_REQUIRE(values[place_of(shape, index)] == extremes[i]);
    for (index[axis] = 0; index[axis] < place; ++index[axis]) {
      BOOST_REQUIRE(values[place_of(shape, index)] != extremes[i]);
    }
  }
}

void check_reductions(const Tensor& x, std::size_t axis) {
  const auto rank = static_cast<std::int64_t>(x.type.shape.rank());
  const Attrs from_front{{"axis", static_cast<std::int64_t>(axis)}};
  const Attrs from_end{{"axis", static_cast<std::int64_t>(axis) - rank}, {"keep", true}};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const auto smaller = [](double a, double b) { return std::min(a, b); };
  const std::vector<double> maxima = reduced(x, axis, -infinity, larger);
  const std::vector<double> minima = reduced(x, axis, infinity, smaller);
  // |error| <= count u sum |x| (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
  const auto count = static_cast<double>(x.type.shape[axis]);
  check_close(run_op("sum", {x}, from_front), reduced(x, axis, 0, std::plus<>{}), count * count);
  check_close(run_op("max", {x}, from_end), maxima, 0);
  check_close(run_op("min", {x}, from_end), minima, 0);
  check_places(x, axis, run_op("argmax", {x}, from_end), maxima);
  check_places(x, axis, run_op("argmin", {x}, from_end), minima);
  for (const char* op : {"sum", "max", "min", "argmax", "argmin"}) {
    BOOST_TEST(same_for_every_team(op, {x}, from_front));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(reductions_agree_with_a_plain_loop) {
  for_random_cases(
      [](Random& random, DType dtype) {
        const Shape shape = random_shape(random);
        const std::size_t axis = random.below(shape.rank());
        check_reductions(random_tensor({dtype, shape}, random.next()), axis);
      },
      30);
}

// One row, one column, and columns of more than one strip, each longer than a tile.
BOOST_AUTO_TEST_CASE(long_axes_are_reduced_in_tiles) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    check_reductions(random_tensor({dtype, {100'003}}, 1), 0);
    check_reductions(random_tensor({dtype, {70'001, 3}}, 2), 0);
    check_reductions(random_tensor({dtype, {2, 150, 1030}}, 3), 1);
  }
}

// Narrow matrices and batches of tiny ones, more than there are lanes or rows of a block, and not a
// multiple of them.
BOOST_AUTO_TEST_CASE(short_axes_are_reduced) {
  for (const auto& [shape, axis] :
       {std::pair(Shape{20'003, 2}, 1), std::pair(Shape{20'003, 2}, 0), std::pair(Shape{5, 3}, 1),
        std::pair(Shape{20'003, 1}, 1), std::pair(Shape{1'003, 32}, 1),
        std::pair(Shape{1'003, 33}, 1), std::pair(Shape{5'003, 3, 4}, 1),
        std::pair(Shape{131, 40, 9}, 1), std::pair(Shape{131, 101, 3}, 1)}) {
    check_reductions(random_tensor({DType::f32, shape}, 1), static_cast<std::size_t>(axis));
    check_reductions(random_tensor({DType::f64, shape}, 2), static_cast<std::size_t>(axis));
  }
}

// One number after the other, 0.1 a million times would be 100,958: verification, which compares
// GPUs with CPUs, counts on CPUs being right.
BOOST_AUTO_TEST_CASE(sums_of_many_equal_numbers_keep_their_digits) {
  for (const auto& [shape, axis] :
       {std::pair(Shape{1'000'000}, 0), std::pair(Shape{3, 400'000}, 1),
        std::pair(Shape{400'000, 3}, 0), std::pair(Shape{20'000, 600}, 0)}) {
    const Tensor x = tensor_of(
        {DType::f32, shape}, std::vector(static_cast<std::size_t>(shape.elements()), double{0.1F}));
    const double sum = double{0.1F} * static_cast<double>(shape[static_cast<std::size_t>(axis)]);
    const Tensor result = run_op("sum", {x}, Attrs{{"axis", std::int64_t{axis}}});
    const auto count = static_cast<std::size_t>(result.type.shape.elements());
    check_close(result, std::vector(count, sum), 80);
  }
}

// Added up as integers of 64 bits, of which the sum keeps the lower ones.
BOOST_AUTO_TEST_CASE(sums_of_integers_wrap_around_and_their_maxima_heed_the_sign) {
  const auto check = [](Random& random, auto element) {
    using T = decltype(element);
    const auto rows = static_cast<std::size_t>(between(random, 1, 50));
    const auto columns = static_cast<std::size_t>(between(random, 1, 50));
    const Shape shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    const Tensor x = random_tensor({dtype_of<T>(), shape}, random.next());
    for (const std::size_t axis : {0U, 1U}) {
      const std::size_t count = axis == 0 ? columns : rows;
      std::vector<std::uint64_t> sums(count, 0);
      std::vector<T> maxima(count, std::numeric_limits<T>::min());
      for (std::size_t i = 0; i < rows * columns; ++i) {
        const std::size_t place = axis == 0 ? i % columns : i / columns;
        sums[place] += static_cast<std::uint64_t>(x.at<T>(i));
        maxima[place] = std::max(maxima[place], x.at<T>(i));
      }
      std::vector<T> wrapped;
      for (const std::uint64_t sum : sums) wrapped.push_back(static_cast<T>(sum));
      const Attrs attrs{{"axis", static_cast<std::int64_t>(axis)}};
      BOOST_TEST((run_op("sum", {x}, attrs).template values<T>() == wrapped));
      BOOST_TEST((run_op("max", {x}, attrs).template values<T>() == maxima));
      BOOST_TEST(same_for_every_team("sum", {x}, attrs));
      BOOST_TEST(same_for_every_team("max", {x}, attrs));
    }
  };
  for_random_cases(integer_dtypes, [&](Random& random, DType dtype) {
    if (dtype == DType::i32) return check(random, std::int32_t{});
    check(random, std::int64_t{});
  });
}

BOOST_AUTO_TEST_CASE(the_axis_goes_unless_it_is_kept) {
  const TensorType x{DType::f32, {2, 3, 4}};
  BOOST_TEST((type_of("sum", {x}, {{"axis", 1}}).shape == Shape{2, 4}));
  BOOST_TEST((type_of("sum", {x}, {{"axis", 1}, {"keep", true}}).shape == Shape{2, 1, 4}));
  BOOST_TEST((type_of("max", {{DType::f32, {5}}}, {{"axis", 0}}).shape == Shape{1}));
  expect_error(ErrorKind::usage, "the input is float32 [2, 3, 4]; there is no axis 3", [&] {
    type_of("max", {x}, {{"axis", 3}});
  });
}

// Of integers from 0 to 3, many are equal.
BOOST_AUTO_TEST_CASE(the_place_of_the_first_of_equal_extremes_is_found) {
  for_random_cases([](Random& random, DType dtype) {
    const Shape shape = random_shape(random);
    std::vector<double> values(static_cast<std::size_t>(shape.elements()));
    for (double& v : values) v = static_cast<double>(random.below(4));
    check_reductions(tensor_of({dtype, shape}, values), random.below(shape.rank()));
  });
}

BOOST_AUTO_TEST_CASE(the_place_of_the_first_nan_is_found) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t inner : {1, 3}) {
    for (const std::int64_t extent : {7, 40'000}) {
      for (const std::int64_t place : {std::int64_t{0}, std::int64_t{5}, extent - 1}) {
        std::vector<double> values(static_cast<std::size_t>(extent * inner), 1.0);
        for (std::int64_t k = place; k < extent; k += 11) {
          values[static_cast<std::size_t>(k * inner)] = nan;
        }
        const Tensor x = tensor<double>({extent, inner}, values);
        for (const char* op : {"argmax", "argmin"}) {
          const Tensor found = run_op(op, {x}, {{"axis", 0}});
          BOOST_TEST(found.at<std::int64_t>(0) == place);
          if (inner > 1) BOOST_TEST(found.at<std::int64_t>(1) == 0);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_nan_reaches_the_sum_and_the_extremes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // What is vectorised takes 32 at a time.
  for (const std::size_t place : {0, 33, 63, 75}) {
    std::vector<double> values(76, 1.0);
    values[place] = nan;
    for (const char* op : {"sum", "max", "min"}) {
      const Tensor row = run_op(op, {tensor<double>({76}, values)}, {{"axis", 0}});
      const Tensor columns = run_op(op, {tensor<double>({76, 1, 1}, values)}, {{"axis", 0}});
      const Tensor wide = run_op(op, {tensor<double>({38, 2}, values)}, {{"axis", 0}});
      BOOST_TEST(std::isnan(row.at<double>(0)));
      BOOST_TEST(std::isnan(columns.at<double>(0)));
      const Tensor pairs = run_op(op, {tensor<double>({38, 2}, values)}, {{"axis", 1}});
      BOOST_TEST(std::isnan(wide.at<double>(place % 2)));
      BOOST_TEST(std::isnan(pairs.at<double>(place / 2)));
    }
  }
}

BOOST_AUTO_TEST_CASE(work_is_one_operation_for_each_element_that_is_read) {
  const Work work = work_of("sum", {{DType::f32, {10, 20}}}, {{"axis", 0}});
  BOOST_TEST(work.flops == 200);
  BOOST_TEST(work.bytes == 880);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
