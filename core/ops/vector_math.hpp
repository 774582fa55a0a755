// Functions of <cmath> for many numbers at once.
#pragma once

#include <cstdint>

namespace troupe {

// out[i] = f(x[i]) for `count` numbers, for T float and double. `out` may be `x`. The error is at
// most 4 units in the last place. A value depends on its place among the numbers by a rounding: the
// last few are computed one by one. It depends by as much on the processor.
template <class T>
void exp_each(const T* x, T shift, T* out, std::int64_t count);  // of x[i] - shift
template <class T>
void log_each(const T* x, T* out, std::int64_t count);
template <class T>
void tanh_each(const T* x, T* out, std::int64_t count);
template <class T>
void gelu_each(const T* x, T* out, std::int64_t count);  // x / 2 (1 + erf(x / √2))
// exp(x[i]) divided by `scale` times the sum of all; the maximum is subtracted first, since e^x
// itself could overflow.
template <class T>
void softmax_row(const T* x, T scale, T* out, std::int64_t count);

}  // namespace troupe
