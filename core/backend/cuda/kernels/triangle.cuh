// The kernel that readies a matrix for potrf.
#pragma once

#include "core/backend/cuda/kernels/threads.cuh"

namespace troupe::device_kernels {

// Copies the lower triangle of an n × n matrix, and puts zeros above it. `out` may be `a`.
template <class T>
__global__ void lower_triangle(const T* a, T* out, std::int64_t n) {
  for (std::int64_t i = first_index(); i < n * n; i += index_step()) {
    out[i] = i % n <= i / n ? a[i] : T{0};
  }
}

}  // namespace troupe::device_kernels
