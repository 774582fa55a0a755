// Ops that put the same values elsewhere, on the device and on the CPU: all bits are the same.
#include "tests/unit/cuda/device_fixture.hpp"

#include <algorithm>
#include <numeric>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(cuda_layout)
namespace {

Integers random_order(Random& random, std::size_t rank) {
  Integers axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t d = rank; d > 1; --d) std::swap(axes[d - 1], axes[random.below(d)]);
  return axes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(reshaped_values_stay_in_order) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Tensor x = random_tensor({dtype, random_shape(random)}, random.next());
    BOOST_TEST(same_on_device("reshape", {x}, {{"shape", Integers{-1}}}));
  });
}

BOOST_AUTO_TEST_CASE(axes_may_be_in_any_order) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Tensor x = random_tensor({dtype, random_shape(random)}, random.next());
    BOOST_TEST(same_on_device("transpose", {x}));
    const Integers axes = random_order(random, x.type.shape.rank());
    BOOST_TEST(same_on_device("transpose", {x}, {{"axes", axes}}));
  });
}

BOOST_AUTO_TEST_CASE(there_may_be_as_many_axes_as_shapes_have) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Tensor x = random_tensor({dtype, Shape(random_extents(random, 8, 4))}, random.next());
    BOOST_TEST(same_on_device("transpose", {x}, {{"axes", random_order(random, 8)}}));
  });
}

BOOST_AUTO_TEST_CASE(matrices_are_transposed_whatever_is_left_beside_their_tiles) {
  for (const std::int64_t rows : {1, 31, 32, 33, 100}) {
    for (const std::int64_t columns : {1, 2, 32, 65}) {
      BOOST_TEST(same_on_device("transpose", {random_tensor({DType::f64, {rows, columns}}, 3)}));
      BOOST_TEST(same_on_device("transpose", {random_tensor({DType::f32, {3, rows, columns}}, 4)},
                                {{"axes", Integers{0, 2, 1}}}));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_slice_may_begin_and_end_anywhere) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Tensor x = random_tensor({dtype, random_shape(random)}, random.next());
    Integers begin;
    Integers end;
    for (std::size_t d = 0; d < x.type.shape.rank(); ++d) {
      begin.push_back(between(random, 0, x.type.shape[d] - 1));
      end.push_back(between(random, begin.back() + 1, x.type.shape[d]));
    }
    BOOST_TEST(same_on_device("slice", {x}, {{"begin", begin}, {"end", end}}));
  });
}

BOOST_AUTO_TEST_CASE(tensors_are_joined_along_any_axis) {
  for_random_cases(all_dtypes, [](Random& random, DType dtype) {
    const Shape shape = random_shape(random);
    const std::size_t axis = random.below(shape.rank());
    std::vector<Tensor> parts;
    for (std::int64_t n = between(random, 1, 4); n > 0; --n) {
      std::vector<std::int64_t> extents;
      for (std::size_t d = 0; d < shape.rank(); ++d) {
        extents.push_back(d == axis ? between(random, 1, 9) : shape[d]);
      }
      parts.push_back(random_tensor({dtype, Shape(extents)}, random.next()));
    }
    BOOST_TEST(same_on_device("concat", parts, {{"axis", static_cast<std::int64_t>(axis)}}));
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
