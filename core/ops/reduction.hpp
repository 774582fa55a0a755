// The operations of sum and max: an element to start with, and how two are combined.
#pragma once

#include "core/ops/element_functions.hpp"

#include <limits>

namespace troupe {

template <class T>
struct Sum {
  static constexpr T start = 0;
  constexpr T operator()(T a, T b) const { return a + b; }
};

template <class T>
struct Max {
  using Limits = std::numeric_limits<decltype(value_of(T{}))>;
  static constexpr T start =
      static_cast<T>(Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
  // A NaN stays.
  constexpr T operator()(T a, T b) const { return value_of(b) > value_of(a) || b != b ? b : a; }
};

}  // namespace troupe
