// Random shapes and plain references for tests of single ops.
#pragma once

#include "tests/support/op_fixture.hpp"
#include "tests/support/seeds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

inline constexpr std::array floating_dtypes{DType::f32, DType::f64};
inline constexpr std::array integer_dtypes{DType::i32, DType::i64};
inline constexpr std::array all_dtypes{DType::f32, DType::f64, DType::i32, DType::i64};

// Calls check(random, dtype) for each element type and several seeds. A failure prints the seed.
inline void for_random_cases(std::span<const DType> dtypes,
                             const std::function<void(Random&, DType)>& check,
                             std::uint64_t seeds = 12) {
  for (const DType dtype : dtypes) {
    for (std::uint64_t seed = 1; seed <= usual_seeds(seeds); ++seed) {
      BOOST_TEST_CONTEXT(to_string(dtype) << ", seed " << seed) {
        Random random(seed);
        check(random, dtype);
      }
    }
  }
}

inline void for_random_cases(const std::function<void(Random&, DType)>& check,
                             std::uint64_t seeds = 12) {
  for_random_cases(floating_dtypes, check, seeds);
}

// From `least` to `most`.
inline std::int64_t between(Random& random, std::int64_t least, std::int64_t most) {
  return least +
         static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

inline std::vector<std::int64_t> random_extents(Random& random, std::int64_t rank,
                                                std::int64_t extent_max) {
  std::vector<std::int64_t> extents;
  for (std::int64_t d = 0; d < rank; ++d) extents.push_back(between(random, 1, extent_max));
  return extents;
}

// Shapes of which some are larger than the blocks that kernels are split into.
inline Shape random_shape(Random& random, std::int64_t rank_min = 1) {
  const std::int64_t rank = between(random, rank_min, 4);
  std::vector<std::int64_t> extents = random_extents(random, rank, rank < 3 ? 40 : 9);
  if (random.below(2) == 0) extents[random.below(extents.size())] *= 113;
  return Shape(extents);
}

// Calls f(T{}) for the type T of the elements, with signed integers.
template <class F>
auto with_type_of(DType dtype, const F& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::f64) return f(double{});
  if (dtype == DType::i32) return f(std::int32_t{});
  return f(std::int64_t{});
}

inline std::vector<double> doubles(const Tensor& t) {
  return with_type_of(t.type.dtype, [&](auto element) {
    const auto values = t.values<decltype(element)>();
    return std::vector<double>(values.begin(), values.end());
  });
}

// Of doubles, rounded to the element type.
inline Tensor tensor_of(TensorType type, const std::vector<double>& values) {
  return with_type_of(type.dtype, [&](auto element) {
    using T = decltype(element);
    std::vector<T> elements;
    for (const double value : values) elements.push_back(static_cast<T>(value));
    return tensor<T>(type.shape, elements);
  });
}

// Whole numbers from 0 to before `end`.
inline Tensor random_numbers(Random& random, TensorType type, std::int64_t end) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    numbers.push_back(static_cast<double>(between(random, 0, end - 1)));
  }
  return tensor_of(type, numbers);
}

inline double epsilon_of(DType dtype) {
  return dtype == DType::f32 ? static_cast<double>(std::numeric_limits<float>::epsilon())
                             : std::numeric_limits<double>::epsilon();
}

// Every value within `units` roundings of the expected one, relative to the larger of it and 1.
inline void check_close(const Tensor& actual, const std::vector<double>& expected, double units) {
  const std::vector<double> values = doubles(actual);
  BOOST_REQUIRE(values.size() == expected.size());
  const double unit = epsilon_of(actual.type.dtype);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double bound = units * unit * std::max(1.0, std::fabs(expected[i]));
    if (std::fabs(values[i] - expected[i]) <= bound) continue;
    BOOST_ERROR("element " << i << " is " << values[i] << " and not " << expected[i]);
    return;
  }
}

// Row-major indices of the elements of a shape, counted up in order.
class IndexCounter {
 public:
  explicit IndexCounter(const Shape& shape) : shape_(shape), index_(shape.rank(), 0) {}
  const std::vector<std::int64_t>& index() const { return index_; }
  std::int64_t operator[](std::size_t axis) const { return index_[axis]; }
  void next() {
    for (std::size_t d = index_.size(); d-- > 0;) {
      if (++index_[d] < shape_[d]) return;
      index_[d] = 0;
    }
  }

 private:
  Shape shape_;
  std::vector<std::int64_t> index_;
};

// The place in memory of the element at `index`.
inline std::size_t place_of(const Shape& shape, const std::vector<std::int64_t>& index) {
  std::int64_t place = 0;
  for (std::size_t d = 0; d < index.size(); ++d) place = place * shape[d] + index[d];
  return static_cast<std::size_t>(place);
}

// The derivatives of `f` at x by central differences: (f(x + h) - f(x - h)) / 2h.
inline std::vector<double> numeric_gradient(
    const std::vector<double>& x, const std::function<double(const std::vector<double>&)>& f) {
  constexpr double h = 1e-5;
  std::vector<double> gradient;
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::vector<double> above = x;
    std::vector<double> below = x;
    above[i] += h;
    below[i] -= h;
    gradient.push_back((f(above) - f(below)) / (2 * h));
  }
  return gradient;
}

}  // namespace troupe::testing
