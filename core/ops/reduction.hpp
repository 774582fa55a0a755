// The operations of sum, and of maxima and minima: how two elements are combined, and an element to
// start with.
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
  static constexpr std::int64_t lanes = 2 * reduced_lanes;
  using Wide = T;
  using Limits = std::numeric_limits<decltype(value_of(T{}))>;
  static constexpr T start =
      static_cast<T>(Limits::has_infinity ? Limits::infinity() : Limits::max());
  // A NaN stays.
  constexpr T operator()(T a, T b) const {
    const T smaller = value_of(b) < value_of(a) ? b : a;
    return b != b ? b : smaller;
  }
};

// An element and its place along the axis, for argmax and argmin.
template <class T>
struct Placed {
  T value;
  std::int64_t place;
};

// The one that Extreme, which is Max or Min, keeps of two; of equal ones the first. A NaN stays,
// the first of several.
template <template <class> class Extreme, class T>
struct FirstOf {
  constexpr Placed<T> operator()(const Placed<T>& a, const Placed<T>& b) const {
    const T kept = Extreme<T>{}(a.value, b.value);
    const bool is_nan = kept != kept;
    const bool is_a = is_nan ? a.value != a.value : a.value == kept;
    const bool is_b = is_nan ? b.value != b.value : b.value == kept;
    return is_b && (!is_a || b.place < a.place) ? b : a;
  }
};

}  // namespace troupe
