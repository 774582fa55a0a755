// The C library has these functions for vectors of numbers (libmvec, part of glibc). A compiler
// uses them in a loop once it knows of them: the first pragmas say so.
#include "core/ops/vector_math.hpp"

#include "core/ops/for_each_processor.hpp"
#include "core/ops/rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

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
float sinf(float) noexcept;
#pragma omp declare simd notinbranch
double sin(double) noexcept;
#pragma omp declare simd notinbranch
float cosf(float) noexcept;
#pragma omp declare simd notinbranch
double cos(double) noexcept;
#pragma omp declare simd notinbranch
float tanhf(float) noexcept;
#pragma omp declare simd notinbranch
double tanh(double) noexcept;
#pragma omp declare simd notinbranch
float powf(float, float) noexcept;
#pragma omp declare simd notinbranch
double pow(double, double) noexcept;
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
template <class T, class F>
[[gnu::always_inline]] inline void apply_both(const T* x, const T* y, T* out, std::int64_t count,
                                              const F& f) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = f(x[i], y[i]);
}

// libmvec computes e^v one by one where that is no normal number, which takes ten times as long:
// for what a mask leaves out, say. There, v is halved, and the result squared.
template <class T>
[[gnu::always_inline]] inline void apply_exp(const T* x, T shift, T* out, std::int64_t count) {
  using Int = std::conditional_t<sizeof(T) == sizeof(std::int32_t), std::int32_t, std::int64_t>;
  constexpr std::int64_t block = 256;
  constexpr T usual = sizeof(T) == sizeof(float) ? 87 : 708;  // e^v is normal up to here, and e^-v
  constexpr T enough = 2 * (usual - 2);                       // e^v is infinite
  constexpr T nothing = sizeof(T) == sizeof(float) ? -105 : -747;  // below it, e^v is 0
  for (std::int64_t first = 0; first < count; first += block, x += block, out += block) {
    const std::int64_t length = std::min(block, count - first);
    Int unusual = 0;
#pragma omp simd reduction(| : unusual)
    for (std::int64_t i = 0; i < length; ++i) {
      unusual |= std::abs(x[i] - shift) > usual ? Int{1} : Int{0};
    }
    if (unusual == 0) {
      apply(x, out, length, [=](T v) { return std::exp(v - shift); });
      continue;
    }
    std::array<T, block> exps;
    apply(x, exps.data(), length, [=](T v) {
      const T shifted = v - shift;
      const T above = shifted < -enough ? -enough : shifted;
      const T between = above > enough ? enough : above;
      return std::abs(shifted) > usual ? between / 2 : shifted;
    });
    apply(exps.data(), exps.data(), length, [](T v) { return std::exp(v); });
    // Processors are as slow with a product that is too small for a number.
    apply_both(x, exps.data(), out, length, [=](T v, T e) {
      const T factor = v - shift < nothing ? T{0} : e;
      return std::abs(v - shift) > usual ? factor * factor : factor;
    });
  }
}

// Rows of up to so many elements are worked on together.
constexpr std::int64_t short_row = 64;

// out[i] = exp(x[i] - the maximum of the row), for rows that are short.
template <class T>
[[gnu::always_inline]] inline void exp_of_short_rows(const T* x, T* maxima, T* out,
                                                     std::int64_t rows, std::int64_t length) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* const row = x + r * length;
    T* const to = out + r * length;
    T max = row[0];
    for (std::int64_t i = 1; i < length; ++i) max = row[i] > max ? row[i] : max;
    for (std::int64_t i = 0; i < length; ++i) to[i] = row[i] - max;
    maxima[r] = max;
  }
  apply_exp(out, T{0}, out, rows * length);
}

}  // namespace

template <class T>
TROUPE_FOR_EACH_PROCESSOR void exp_each(const T* x, T shift, T* out, std::int64_t count) {
  apply_exp(x, shift, out, count);
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void log_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::log(v); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void sin_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::sin(v); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void cos_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::cos(v); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void sigmoid_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return -v; });
  apply_exp(out, T{0}, out, count);
  apply(out, out, count, [](T v) { return 1 / (1 + v); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void tanh_each(const T* x, T* out, std::int64_t count) {
  apply(x, out, count, [](T v) { return std::tanh(v); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void pow_each(const T* x, T exponent, T* out, std::int64_t count) {
  apply(x, out, count, [=](T v) { return std::pow(v, exponent); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void gelu_each(const T* x, T* out, std::int64_t count) {
  constexpr T scale = 1 / std::numbers::sqrt2_v<T>;
  apply(x, out, count, [](T v) { return v / 2 * (1 + std::erf(v * scale)); });
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void exp_sums(const T* x, T* maxima, T* sums, std::int64_t rows,
                                        std::int64_t length) {
  constexpr std::int64_t piece = 256;
  std::array<T, piece> exps;
  if (length <= short_row) {
    const std::int64_t few = piece / length;
    for (std::int64_t r = 0; r < rows; r += few) {
      const std::int64_t count = std::min(few, rows - r);
      exp_of_short_rows(x + r * length, maxima + r, exps.data(), count, length);
      for (std::int64_t j = 0; j < count; ++j) {
        sums[r + j] = sum_of(exps.data() + j * length, length);
      }
    }
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r, x += length) {
    maxima[r] = max_of(x, length);
    sums[r] = 0;
    for (std::int64_t i = 0; i < length; i += piece) {
      const std::int64_t count = std::min(piece, length - i);
      apply_exp(x + i, maxima[r], exps.data(), count);
      sums[r] += sum_of(exps.data(), count);
    }
  }
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void softmax_rows(const T* x, T scale, T* out, std::int64_t rows,
                                            std::int64_t length) {
  constexpr std::int64_t rows_max = 512;
  const std::int64_t few = length > short_row ? 1 : rows_max / length;
  std::array<T, rows_max> maxima;
  for (std::int64_t r = 0, count = 0; r < rows;
       r += count, x += count * length, out += count * length) {
    count = std::min(few, rows - r);
    if (length > short_row) {
      apply_exp(x, max_of(x, length), out, length);
    } else {
      exp_of_short_rows(x, maxima.data(), out, count, length);
    }
    for (std::int64_t j = 0; j < count; ++j) {
      T* const row = out + j * length;
      const T sum = sum_of(row, length) * scale;
      for (std::int64_t i = 0; i < length; ++i) row[i] /= sum;
    }
  }
}

template void exp_each(const float*, float, float*, std::int64_t);
template void exp_each(const double*, double, double*, std::int64_t);
template void log_each(const float*, float*, std::int64_t);
template void log_each(const double*, double*, std::int64_t);
template void sin_each(const float*, float*, std::int64_t);
template void sin_each(const double*, double*, std::int64_t);
template void cos_each(const float*, float*, std::int64_t);
template void cos_each(const double*, double*, std::int64_t);
template void sigmoid_each(const float*, float*, std::int64_t);
template void sigmoid_each(const double*, double*, std::int64_t);
template void tanh_each(const float*, float*, std::int64_t);
template void tanh_each(const double*, double*, std::int64_t);
template void pow_each(const float*, float, float*, std::int64_t);
template void pow_each(const double*, double, double*, std::int64_t);
template void gelu_each(const float*, float*, std::int64_t);
template void gelu_each(const double*, double*, std::int64_t);
template void exp_sums(const float*, float*, float*, std::int64_t, std::int64_t);
template void exp_sums(const double*, double*, double*, std::int64_t, std::int64_t);
template void softmax_rows(const float*, float, float*, std::int64_t, std::int64_t);
template void softmax_rows(const double*, double, double*, std::int64_t, std::int64_t);

}  // namespace troupe
