// The kernels of take and index_add.
#pragma once

#include "core/backend/cuda/kernels/lanes.cuh"
#include "core/backend/cuda/kernels/threads.cuh"
#include "core/ops/element_functions.hpp"

#include <cstdint>

namespace troupe::device_kernels {

// For a single block: see note_first_row().
template <class Number>
__global__ void check_numbers(const Number* numbers, std::int64_t count, std::int64_t extent,
                              std::int32_t* verdict) {
  note_first_row(count, verdict, [=](std::int64_t i) { return !is_element(numbers[i], extent); });
}

// A tensor of rows of `inner` elements: `extent` rows in each block of x, `count` of the result.
// 0 where there is no such row.
template <class T, class Number>
__global__ void take_rows(const T* x, std::int64_t extent, std::int64_t inner,
                          const Number* numbers, std::int64_t count, T* out,
                          std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const std::int64_t row = i / inner;
    const Number number = numbers[row % count];
    out[i] = is_element(number, extent)
                 ? x[(row / count * extent + value_of(number)) * inner + i % inner]
                 : T{0};
  }
}

// Adds rows to some of a tensor. It has `columns` columns, `inner` in each of its blocks; each is
// shared by `lanes` threads, a power of two, of which each has the rows whose numbers modulo
// `lanes` are its own. So all that is added to an element is added by one thread, in its order.
template <class T, class Number>
__global__ void add_rows(const T* added, const Number* numbers, std::int64_t count,
                         std::int64_t extent, std::int64_t inner, std::int64_t columns,
                         std::int64_t lanes, T* out) {
  for (std::int64_t i = first_index(); i < columns * lanes; i += index_step()) {
    const std::int64_t block = i % columns / inner;
    const std::int64_t column = i % columns % inner;
    const std::int64_t lane = i / columns;
    for (std::int64_t k = 0; k < count; ++k) {
      const Number number = numbers[k];
      if (!is_element(number, extent) || (value_of(number) & (lanes - 1)) != lane) continue;
      out[(block * extent + value_of(number)) * inner + column] +=
          added[(block * count + k) * inner + column];
    }
  }
}

}  // namespace troupe::device_kernels
