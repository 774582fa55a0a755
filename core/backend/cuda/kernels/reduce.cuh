// The kernels of sum, max and min, which combine the elements along an axis, and of argmax and
// argmin.
#pragma once

#include "core/backend/cuda/kernels/lanes.cuh"
#include "core/backend/cuda/kernels/threads.cuh"
#include "core/ops/reduction.hpp"

namespace troupe::device_kernels {

// The tensor is `outer` blocks of `extent` rows of `inner` elements. Each column of a block is cut
// into `parts` of `part_extent` elements, the last one maybe shorter; each part becomes an element
// of `out`, which is `outer` blocks of `parts` rows of `inner` elements. `lanes` threads share a
// part.
struct ReducedAxis {
  std::int64_t outer;
  std::int64_t extent;
  std::int64_t inner;
  std::int64_t parts;
  std::int64_t part_extent;
};

template <class T, class Operation>
__global__ void reduce_axis(ReducedAxis axis, unsigned lanes, const T* x, T* out) {
  __shared__ T shared[block_threads];
  const Operation combine;
  const RowThread thread =
      axis.inner == 1 ? RowThread::along_row(lanes) : RowThread::across_rows(lanes);
  const std::int64_t per_block = blockDim.x / lanes;
  const std::int64_t count = axis.outer * axis.parts * axis.inner;
  for (std::int64_t first = blockIdx.x * per_block; first < count; first += gridDim.x * per_block) {
    const std::int64_t i = first + thread.row;
    T result = Operation::start;
    if (i < count) {
      const std::int64_t part = i / axis.inner % axis.parts;
      const std::int64_t begin = part * axis.part_extent;
      const std::int64_t end =
          begin + axis.part_extent < axis.extent ? begin + axis.part_extent : axis.extent;
      const std::int64_t block = i / axis.inner / axis.parts;
      const T* const column = x + block * axis.extent * axis.inner + i % axis.inner;
      for (std::int64_t k = begin + thread.lane; k < end; k += lanes) {
        result = combine(result, column[k * axis.inner]);
      }
    }
    result = combine_lanes(shared, thread, result, combine);
    if (i < count && thread.lane == 0) out[i] = result;
  }
}

template <class T>
__device__ Placed<T> placed(T value, std::int64_t place) {
  return {value, place};
}
template <class T>
__device__ Placed<T> placed(const Placed<T>& found, std::int64_t) {
  return found;
}
template <class T>
__device__ void store(const Placed<T>& found, std::int64_t& out) {
  out = found.place;
}
template <class T>
__device__ void store(const Placed<T>& found, Placed<T>& out) {
  out = found;
}

// Where the extreme elements of each part are: numbers, or the elements with their numbers, of
// which this then finds the extremes of all parts. See reduce_axis.
template <class T, template <class> class Extreme, class In, class Out>
__global__ void find_places(ReducedAxis axis, unsigned lanes, const In* x, Out* out) {
  __shared__ Placed<T> shared[block_threads];
  const FirstOf<Extreme, T> combine;
  const RowThread thread =
      axis.inner == 1 ? RowThread::along_row(lanes) : RowThread::across_rows(lanes);
  const std::int64_t per_block = blockDim.x / lanes;
  const std::int64_t count = axis.outer * axis.parts * axis.inner;
  for (std::int64_t first = blockIdx.x * per_block; first < count; first += gridDim.x * per_block) {
    const std::int64_t i = first + thread.row < count ? first + thread.row : count - 1;
    const std::int64_t begin = i / axis.inner % axis.parts * axis.part_extent;
    const std::int64_t end =
        begin + axis.part_extent < axis.extent ? begin + axis.part_extent : axis.extent;
    const In* const column =
        x + i / axis.inner / axis.parts * axis.extent * axis.inner + i % axis.inner;
    // A lane without elements of its own has the first one.
    Placed<T> found = placed(column[begin * axis.inner], begin);
    for (std::int64_t k = begin + thread.lane; k < end; k += lanes) {
      found = combine(found, placed(column[k * axis.inner], k));
    }
    found = combine_lanes(shared, thread, found, combine);
    if (first + thread.row < count && thread.lane == 0) store(found, out[i]);
  }
}

}  // namespace troupe::device_kernels
