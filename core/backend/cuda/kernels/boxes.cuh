// Kernels over elements that lie apart in memory by other steps in each tensor: a part of a tensor,
// its axes in another order, or one value read many times.
#pragma once

#include "core/backend/cuda/kernels/threads.cuh"
#include "core/ops/strided.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace troupe::device_kernels {

// The value itself.
struct Same {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};

// out = f(x, y, …) at each place of the box, whose last operand is `out`, and whose others are the
// inputs. `out` may be an input that lies in memory as `out` does.
template <class T, class F, std::size_t n, class... In>
__global__ void each_place(StridedBox<n> box, T* out, F f, const In*... in) {
  const std::int64_t length = box.length();
  const std::int64_t count = box.rows() * length;
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const std::int64_t row = i / length;
    const std::int64_t column = i - row * length;
    std::array<std::int64_t, n> at = box.offsets(row);
    for (std::size_t k = 0; k < n; ++k) at[k] += column * box.step(k);
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      out[at[n - 1]] = f(in[at[k]]...);
    }
    (std::make_index_sequence<n - 1>{});
  }
}

constexpr unsigned tile_extent = 32;  // the columns of a tile are the elements of a cache line

// Copies a box whose last axis lies apart in `in`, by squares of `tile_extent` elements, so that
// neighbouring threads both read and write neighbouring elements. `across` is the axis whose
// elements are neighbours in `in`. Blocks have tile_extent threads for each of some columns.
template <class T>
__global__ void transpose_tiles(StridedBox<2> box, std::size_t across, const T* in, T* out) {
  __shared__ T tile[tile_extent][tile_extent + 1];  // one more: columns are in several banks
  const std::size_t last = box.rank() - 1;
  const unsigned column = threadIdx.x % tile_extent;
  const unsigned row_step = blockDim.x / tile_extent;
  const auto step_of = [&](std::size_t d) {
    return d == last || d == across ? std::int64_t{tile_extent} : 1;
  };
  const auto tiles_along = [&](std::size_t d) {
    return (box.extent(d) + step_of(d) - 1) / step_of(d);
  };
  std::int64_t tiles = 1;
  for (std::size_t d = 0; d <= last; ++d) tiles *= tiles_along(d);
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t last_left = 0;    // the elements from the tile's first one to the end of the axis
    std::int64_t across_left = 0;  // the same for the axis `across`
    std::int64_t rest = t;
    for (std::size_t d = last + 1; d-- > 0; rest /= tiles_along(d)) {
      const std::int64_t first = rest % tiles_along(d) * step_of(d);
      from += first * box.stride(0, d);
      to += first * box.stride(1, d);
      if (d == last) last_left = box.extent(d) - first;
      if (d == across) across_left = box.extent(d) - first;
    }
    for (unsigned row = threadIdx.x / tile_extent; row < tile_extent; row += row_step) {
      if (row < last_left && column < across_left) {
        tile[row][column] = in[from + row * box.stride(0, last) + column];
      }
    }
    __syncthreads();
    for (unsigned row = threadIdx.x / tile_extent; row < tile_extent; row += row_step) {
      if (row < across_left && column < last_left) {
        out[to + row * box.stride(1, across) + column] = tile[column][row];
      }
    }
    __syncthreads();
  }
}

}  // namespace troupe::device_kernels
