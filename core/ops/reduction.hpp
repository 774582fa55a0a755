// The operations of sum, and of maxima and minima: how two elements are combined, and for those
// over an axis an element to start with.
#pragma once

#include "core/ops/element_functions.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace troupe {

// See reduce_values().
constexpr std::int64_t reduced_lanes = 16;

// `Wide`: for what was combined of some elements each.
template <class T>
struct Sum {
  static constexpr std::int64_t lanes = reduced_lanes;
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
  static constexpr T start = 0;
  constexpr T operator()(T a, T b) const { return a + b; }
};

template <class T>
struct Max {
  // GCC 12 unrolls a loop of up to 16 rounds, and then vectorises sums, but not this.
  static constexpr std::int64_t lanes = 2 * reduced_lanes;
  using Wide = T;
  using Limits = std::numeric_limits<decltype(value_of(T{}))>;
  static constexpr T start =
      static_cast<T>(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
  // A NaN stays. No `||`: of random numbers, processors can't predict its branches.
  constexpr T operator()(T a, T b) const {
    const T larger = value_of(b) > value_of(a) ? b : a;
    return b != b ? b : larger;
  }
};

template <class T>
struct Min {
  // A NaN stays.
  constexpr T operator()(T a, T b) const {
    const T smaller = value_of(b) < value_of(a) ? b : a;
    return b != b ? b : smaller;
  }
};

}  // namespace troupe
