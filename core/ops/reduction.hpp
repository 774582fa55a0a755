// The operations of sum and max: an element to start with, and how two are combined.
#pragma once

#include <limits>

namespace troupe {

template <class T>
struct Sum {
  static constexpr T start = 0;
  constexpr T operator()(T a, T b) const { return a + b; }
};

template <class T>
struct Max {
  static constexpr T start = -std::numeric_limits<T>::infinity();
  // A NaN stays.
  constexpr T operator()(T a, T b) const { return b > a || b != b ? b : a; }
};

}  // namespace troupe
