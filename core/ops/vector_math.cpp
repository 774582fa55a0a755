// The C library has these functions for vectors of numbers (libmvec, part of glibc). A compiler
// uses them in a loop once it knows of them: the first pragmas say so.
//
// Per float32 on one core of a Sapphire Rapids, with plain loops and with these: gelu 18 and 1.2
// ns, tanh 17 and 1.1, exp 1.8 and 0.7. oneDNN 2.6 takes 0.5, 0.4 and 0.3 by instructions that
// Troupe isn't compiled for, but has no float64.
#include "core/ops/vector_math.hpp"

#include <cmath>

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
void apply(const T* x, T* out, std::int64_t count, const F& f) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = f(x[i]);
}

}  // namespace

template <class T>
void exp_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::exp(v); });
}
template <class T>
void log_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::log(v); });
}
template <class T>
void tanh_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::tanh(v); });
}
template <class T>
void erf_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::erf(v); });
}

template void exp_each(const float*, float*, std::int64_t);
template void exp_each(const double*, double*, std::int64_t);
template void log_each(const float*, float*, std::int64_t);
template void log_each(const double*, double*, std::int64_t);
template void tanh_each(const float*, float*, std::int64_t);
template void tanh_each(const double*, double*, std::int64_t);
template void erf_each(const float*, float*, std::int64_t);
template void erf_each(const double*, double*, std::int64_t);

}  // namespace troupe
