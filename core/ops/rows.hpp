// Ops that work on each row along the last axis by itself.
#pragma once

#include "core/ops/elementwise.hpp"
#include "core/ops/reduction.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace troupe {

// A tensor without dimensions is a row of one element.
inline std::int64_t row_length(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

// Calls f(begin, end) on the team for blocks of rows. A row isn't split: a tensor of few rows
// occupies few threads.
template <class F>
void for_row_blocks_of(Team& team, const Shape& shape, const F& f) {
  const std::int64_t length = row_length(shape);
  for_row_blocks(team, shape.elements() / length, length, f);
}

template <class T>
[[gnu::always_inline]] inline T max_of(const T* x, std::int64_t count) {
  return reduce_values<reduced_lanes>(
      x[0], count, [](T a, T b) { return b > a ? b : a; }, [=](std::int64_t i) { return x[i]; });
}
// f(0) + … + f(count - 1), in blocks: a sum of very many numbers one by one would lose digits.
template <class T, class F>
[[gnu::always_inline]] inline T sum_values(std::int64_t count, const F& f) {
  constexpr std::int64_t block = summed_in_a_row_max * reduced_lanes;
  double sum = 0;
  for (std::int64_t first = 0; first < count; first += block) {
    sum += static_cast<double>(
        reduce_values<reduced_lanes>(T{0}, std::min(block, count - first), std::plus<T>{},
                                     [&](std::int64_t i) { return f(first + i); }));
  }
  return static_cast<T>(sum);
}
template <class T>
[[gnu::always_inline]] inline T sum_of(const T* x, std::int64_t count) {
  return sum_values<T>(count, [=](std::int64_t i) { return x[i]; });
}

}  // namespace troupe
