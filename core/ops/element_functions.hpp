// What ops compute for one element, for those whose values have the same bits on devices of every
// kind. All functions are constexpr, so that nvcc compiles them for GPUs.
#pragma once

#include "core/base/random.hpp"
#include "core/ops/attrs.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace troupe {

// `value` as an element. Two's complement gives the bits of a negative integer, too.
template <class T>
constexpr T number_of(double value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

// An element as the number that it stands for: kernels get integers as unsigned ones, whose bits
// are those of signed ones.
template <class T>
constexpr auto value_of(T element) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::make_signed_t<T>>(element);
  } else {
    return element;
  }
}

// Whether a number, as an integer of any width, is that of one of `extent` elements.
template <class T>
constexpr bool is_element(T number, std::int64_t extent) {
  return value_of(number) >= 0 && value_of(number) < extent;
}

// An element as one of type To: see cast.cpp. C++ leaves it undefined what a floating-point number
// beyond the range of an integer becomes.
template <class To>
struct Cast {
  template <class T>
  constexpr To operator()(T x) const {
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<T>) {
      using Signed = std::make_signed_t<To>;
      using Limits = std::numeric_limits<Signed>;
      constexpr auto least = static_cast<T>(Limits::min());  // exact, and so is -least
      if (x != x) return 0;
      if (x < least) return static_cast<To>(Limits::min());
      if (x >= -least) return static_cast<To>(Limits::max());
      return static_cast<To>(static_cast<Signed>(x));
    } else {
      return static_cast<To>(value_of(x));
    }
  }
};

// Element i of a tensor that is `value` everywhere.
template <class T>
struct Filling {
  T value;
  constexpr T operator()(std::int64_t) const { return value; }
};

// Element i of arange. Integers hold all of them: arange_type() sees to that.
template <class T>
struct Counting {
  constexpr T operator()(std::int64_t i) const { return static_cast<T>(i); }
};

// Element i of uniform: the top 24 bits of mix(start + i) for float32, the top 53 bits for float64,
// so that every value is exact. The generator is counter-based: elements can be computed in any
// order.
template <class T>
struct Uniform {
  std::uint64_t start;

  // Hashed, since seeds s and s+1 would give the same sequence shifted by one.
  static constexpr Uniform of_seed(std::int64_t seed) {
    return {mix(static_cast<std::uint64_t>(seed))};
  }
  constexpr T operator()(std::int64_t i) const {
    const std::uint64_t bits = mix(start + static_cast<std::uint64_t>(i));
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(bits >> 40) * 0x1p-24F;
    } else {
      return static_cast<double>(bits >> 11) * 0x1p-53;
    }
  }
};

// Each number is rounded to the element type. The shift -0 leaves all elements as they are, unlike
// 0, which would make 0 of -0.
struct Scale {
  double alpha;
  double divisor;
  double shift;
  bool divides = divisor != 1;  // not asked of each element: compilers would divide by 1, too

  static Scale of(const Attrs& attrs) {
    return {attrs.get<double>("alpha"), attrs.get<double>("divisor"), attrs.get<double>("shift")};
  }
  template <class T>
  constexpr T operator()(T x) const {
    T result = number_of<T>(alpha) * x;
    if constexpr (std::is_floating_point_v<T>) {
      if (divides) result /= number_of<T>(divisor);
    }
    return result + number_of<T>(shift);
  }
};
// alpha is rounded to the element type.
struct Axpy {
  double alpha;
  template <class T>
  constexpr T operator()(T x, T y) const {
    return static_cast<T>(alpha) * x + y;
  }
};

// The numerator is rounded to the element type.
struct Reciprocal {
  double numerator;
  template <class T>
  constexpr T operator()(T x) const {
    return static_cast<T>(numerator) / x;
  }
};

// IEEE 754 wants the nearest number.
struct Sqrt {
  template <class T>
  constexpr T operator()(T x) const {
    return std::sqrt(x);
  }
};

struct Square {
  template <class T>
  constexpr T operator()(T x) const {
    return x * x;
  }
};

// Of the least integer, itself, which has no positive counterpart.
struct Abs {
  template <class T>
  constexpr T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return value_of(x) < 0 ? T{0} - x : x;
    } else {
      return std::abs(x);
    }
  }
};

// Comparisons: 1 where they hold, else 0. None holds for a NaN.
template <class T>
struct Greater {
  constexpr T operator()(T a, T b) const { return value_of(a) > value_of(b) ? T{1} : T{0}; }
};
template <class T>
struct GreaterEqual {
  constexpr T operator()(T a, T b) const { return value_of(a) >= value_of(b) ? T{1} : T{0}; }
};
template <class T>
struct Equal {
  constexpr T operator()(T a, T b) const { return a == b ? T{1} : T{0}; }
};

// A NaN is no zero.
struct Where {
  template <class T>
  constexpr T operator()(T condition, T a, T b) const {
    return condition != 0 ? a : b;
  }
};

// A NaN stays a NaN.
struct Relu {
  template <class T>
  constexpr T operator()(T x) const {
    return x < 0 ? T{0} : x;
  }
};
// The derivative at 0 is 0, as the convention is.
struct ReluGrad {
  template <class T>
  constexpr T operator()(T g, T x) const {
    return x > 0 ? g : T{0};
  }
};

}  // namespace troupe
