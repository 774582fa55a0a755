// Kernels before and behind cuSOLVER's potrf.
#pragma once

#include "core/backend/cuda/kernels/lanes.cuh"
#include "core/backend/cuda/kernels/threads.cuh"

namespace troupe::device_kernels {

// Copies the lower triangle of an n × n matrix, and puts zeros above it. `out` may be `a`.
template <class T>
__global__ void lower_triangle(const T* a, T* out, std::int64_t n) {
  for (std::int64_t i = first_index(); i < n * n; i += index_step()) {
    out[i] = i % n <= i / n ? a[i] : T{0};
  }
}

// Writes to `verdict` what potrf has found, if that isn't 0; else the number, from 1, of the first
// row whose diagonal element isn't above 0, if there is one: cuSOLVER lets values through that are
// no numbers. For a single block.
template <class T>
__global__ void check_factor(const T* l, std::int64_t n, const int* found, std::int32_t* verdict) {
  const std::int64_t bad = first_row(n, [=](std::int64_t row) { return !(l[row * n + row] > 0); });
  if (threadIdx.x != 0) return;
  if (*found != 0) {
    *verdict = *found;
  } else if (bad < n) {
    *verdict = static_cast<std::int32_t>(bad + 1);
  }
}

}  // namespace troupe::device_kernels
