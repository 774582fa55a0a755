// The C library has these functions for vectors of numbers (libmvec, part of glibc). A compiler
// uses them in a loop once it knows of them: the first pragmas say so.
#include "core/ops/vector_math.hpp"

#include "core/ops/for_each_processor.hpp"
#include "core/ops/rows.hpp"

#include <cmath>
#include <numbers>

extern "C" {
#pragma omp declare simd notinbranch
float expf(float) noexcept;
#pragma omp declare simd notinbranch
double exp(double) noexcept;
#pragma omp declare simd notinbranch
float logf(float) noexcept;
#pragma omp declare simd notinbranch
double log(double) noexcept;
#pragma omp declare simd notinbranch
float tanhf(float) noexcept;
#pragma omp declare simd notinbranch
double tanh(double) noexcept;
#pragma omp declare simd notinbranch
float erff(float) noexcept;
#pragma omp declare simd notinbranch
double erf(double) noexcept;
}

namespace troupe {
namespace {

template <class T, class F>
[[gnu::always_inline]] inline void apply(const T* x, T* out, std::int64_t count, const F& f) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = f(x[i]);
}

}  // namespace

template <class T>
TROUPE_FOR_EACH_PROCESSOR void exp_each(const T* x, T shift, T* out, std::int64_t count) {
  apply(x, out, count, [=](T v) { return std::exp(v - shift); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void log_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::log(v); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void tanh_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::tanh(v); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void gelu_each(const T* x, T* out, std::int64_t count) {
  constexpr T scale = 1 / std::numbers::sqrt2_v<T>;
  apply(x, out, count, [](T v) { return v / 2 * (1 + std::erf(v * scale)); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void softmax_row(const T* x, T scale, T* out, std::int64_t count) {
  const T max = max_of(x, count);
  apply(x, out, count, [=](T v) { return std::exp(v - max); });
  const T sum = sum_of(out, count) * scale;
  for (std::int64_t i = 0; i < count; ++i) out[i] /= sum;
}

template void exp_each(const float*, float, float*, std::int64_t);
template void exp_each(const double*, double, double*, std::int64_t);
template void log_each(const float*, float*, std::int64_t);
template void log_each(const double*, double*, std::int64_t);
template void tanh_each(const float*, float*, std::int64_t);
template void tanh_each(const double*, double*, std::int64_t);
template void gelu_each(const float*, float*, std::int64_t);
template void gelu_each(const double*, double*, std::int64_t);
template void softmax_row(const float*, float, float*, std::int64_t);
template void softmax_row(const double*, double, double*, std::int64_t);

}  // namespace troupe
