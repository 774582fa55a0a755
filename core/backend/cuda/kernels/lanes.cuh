// Several threads of a block, called lanes, that work on one row, and combine their results.
#pragma once

#include "core/backend/cuda/kernels/threads.cuh"

#include <cstdint>
#include <limits>

namespace troupe::device_kernels {

// Which lane of which row of the block a thread is. The number of lanes is a power of two.
struct RowThread {
  unsigned lanes;
  unsigned row;
  unsigned lane;

  // For rows whose elements are neighbours in memory, and so are then the lanes of a row.
  __device__ static RowThread along_row(unsigned lanes) {
    return {lanes, threadIdx.x / lanes, threadIdx.x % lanes};
  }
  // For rows that are neighbours themselves, such as the columns of a matrix.
  __device__ static RowThread across_rows(unsigned lanes) {
    const unsigned rows = blockDim.x / lanes;
    return {lanes, threadIdx.x % rows, threadIdx.x / rows};
  }
};

// The values of the lanes of each row, combined as a tree. All threads of the block must call it
// and get the result of their row. `shared` has an element for each thread of the block.
template <class T, class Combine>
__device__ T combine_lanes(T* shared, const RowThread& thread, T value, const Combine& combine) {
  T* const values = shared + thread.row * thread.lanes;
  values[thread.lane] = value;
  __syncthreads();
  for (unsigned half = thread.lanes / 2; half > 0; half /= 2) {
    if (thread.lane < half) {
      values[thread.lane] = combine(values[thread.lane], values[thread.lane + half]);
    }
    __syncthreads();
  }
  const T result = values[0];
  __syncthreads();  // before the values of the next call
  return result;
}

// The first of so many rows for which f(row) holds; `rows` if there is none. For a single block,
// all threads of which must call it.
template <class F>
__device__ std::int64_t first_row(std::int64_t rows, const F& f) {
  __shared__ std::int64_t shared[single_block_threads];
  const auto lower = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
  std::int64_t first = rows;
  for (std::int64_t row = threadIdx.x; row < rows; row += blockDim.x) {
    if (f(row)) first = lower(first, row);
  }
  return combine_lanes(shared, RowThread::along_row(blockDim.x), first, lower);
}

// Writes 1 + that row, or the largest int, to `verdict` if there is one. Likewise.
template <class F>
__device__ void note_first_row(std::int64_t rows, std::int32_t* verdict, const F& f) {
  const std::int64_t found = first_row(rows, f);
  constexpr std::int64_t verdict_max = std::numeric_limits<std::int32_t>::max();
  if (threadIdx.x == 0 && found < rows) {
    *verdict = static_cast<std::int32_t>(found < verdict_max ? found + 1 : verdict_max);
  }
}

}  // namespace troupe::device_kernels
