// Functions of one number, for each_element. GPUs round their last digits otherwise than CPUs do:
// those that don't are in core/ops/element_functions.hpp.
#pragma once

#include <cmath>
#include <numbers>

namespace troupe::device_kernels {

struct Exp {
  template <class T>
  __device__ T operator()(T x) const {
    return std::exp(x);
  }
};

struct Log {
  template <class T>
  __device__ T operator()(T x) const {
    return std::log(x);
  }
};

struct Sin {
  template <class T>
  __device__ T operator()(T x) const {
    return std::sin(x);
  }
};

struct Cos {
  template <class T>
  __device__ T operator()(T x) const {
    return std::cos(x);
  }
};

struct Sigmoid {
  template <class T>
  __device__ T operator()(T x) const {
    return 1 / (1 + std::exp(-x));
  }
};

struct Tanh {
  template <class T>
  __device__ T operator()(T x) const {
    return std::tanh(x);
  }
};

struct Pow {
  double exponent;
  template <class T>
  __device__ T operator()(T x) const {
    return std::pow(x, static_cast<T>(exponent));
  }
};

struct Gelu {
  template <class T>
  __device__ T operator()(T x) const {
    return x / 2 * (1 + std::erf(x * (1 / std::numbers::sqrt2_v<T>)));
  }
};

}  // namespace troupe::device_kernels
