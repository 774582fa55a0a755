// Functions of many numbers at once.
#pragma once

#include <cstdint>

namespace troupe {

// For T float and double. `out` may be `x`. exp, log, sin, cos, tanh and pow have an error of at
// most 4 units in the last place, exp one of at most 9 near the ends of its range; the others are
// made of such functions. A value depends on its place among the numbers by a rounding, since the
// last few are computed one by one, and by as much on the processor.

// out[i] = exp(x[i] - shift)
template <class T>
void exp_each(const T* x, T shift, T* out, std::int64_t count);
// out[i] = log(x[i])
template <class T>
void log_each(const T* x, T* out, std::int64_t count);
// out[i] = sin(x[i])
template <class T>
void sin_each(const T* x, T* out, std::int64_t count);
// out[i] = cos(x[i])
template <class T>
void cos_each(const T* x, T* out, std::int64_t count);
// out[i] = 1 / (1 + exp(-x[i])), so 0 where exp(-x[i]) is infinite.
template <class T>
void sigmoid_each(const T* x, T* out, std::int64_t count);
// out[i] = tanh(x[i])
template <class T>
void tanh_each(const T* x, T* out, std::int64_t count);
// out[i] = x[i] to the power of `exponent`
template <class T>
void pow_each(const T* x, T exponent, T* out, std::int64_t count);
// out[i] = x[i] / 2 (1 + erf(x[i] / √2)). Below 0 the sum loses digits: the error is that of a
// number near 1. (erfc would keep them, and takes twice as long.)
template <class T>
void gelu_each(const T* x, T* out, std::int64_t count);
// For rows of `length` numbers: the maximum of each, and the sum of exp(x[i] - maximum).
template <class T>
void exp_sums(const T* x, T* maxima, T* sums, std::int64_t rows, std::int64_t length);
// For rows of `length` numbers: out[i] = exp(x[i]) / (scale · the sum of exp(x[j]) of the row). The
// maximum is subtracted first, since e^x itself could overflow.
template <class T>
void softmax_rows(const T* x, T scale, T* out, std::int64_t rows, std::int64_t length);

}  // namespace troupe
