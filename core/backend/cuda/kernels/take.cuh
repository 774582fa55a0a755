// The kernels of take.
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

}  // namespace troupe::device_kernels
