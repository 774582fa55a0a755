// The kernels of take.
#pragma once

#include "core/backend/cuda/kernels/lanes.cuh"
#include "core/backend/cuda/kernels/threads.cuh"

#include <cstdint>

namespace troupe::device_kernels {

// For a single block: see note_first_row(). As unsigned ones, negative numbers are beyond `extent`.
template <class Number>
__global__ void check_numbers(const Number* numbers, std::int64_t count, std::int64_t extent,
                              std::int32_t* verdict) {
  note_first_row(count, verdict,
                 [=](std::int64_t i) { return numbers[i] >= static_cast<std::uint64_t>(extent); });
}

// A tensor of rows of `inner` elements: `extent` rows in each block of x, `count` of the result.
// 0 where there is no such row.
template <class T, class Number>
__global__ void take_rows(const T* x, std::int64_t extent, std::int64_t inner,
                          const Number* numbers, std::int64_t count, T* out,
                          std::int64_t elements) {
  for (std::int64_t i = first_index(); i < elements; i += index_step()) {
    const std::int64_t row = i / inner;
    const std::uint64_t number = numbers[row % count];
    const std::int64_t from = row / count * extent + static_cast<std::int64_t>(number);
    const bool is_there = number < static_cast<std::uint64_t>(extent);
    out[i] = is_there ? x[from * inner + i % inner] : T{0};
  }
}

}  // namespace troupe::device_kernels
