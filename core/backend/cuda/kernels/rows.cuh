// Kernels of ops that work on each row along the last axis by itself: softmax, its cross entropy
// with a gradient, and layer_norm. `lanes` threads share a row.
#pragma once

#include "core/backend/cuda/kernels/lanes.cuh"
#include "core/backend/cuda/kernels/threads.cuh"
#include "core/ops/reduction.hpp"

#include <cmath>

namespace troupe::device_kernels {

// Calls f(thread, first, length) for each row, where `first` is the index of the row's first
// element, with all threads of the block. A thread that has no row gets a length of 0.
template <class F>
__device__ void for_each_row(std::int64_t rows, std::int64_t length, unsigned lanes, const F& f) {
  const RowThread thread = RowThread::along_row(lanes);
  const std::int64_t per_block = blockDim.x / lanes;
  for (std::int64_t first = blockIdx.x * per_block; first < rows; first += gridDim.x * per_block) {
    const std::int64_t row = first + thread.row;
    f(thread, row * length, row < rows ? length : 0);
  }
}

// What a lane of a row adds up: the sum of f(i) over the row's elements.
template <class T, class F>
__device__ T sum_of_row(T* shared, const RowThread& thread, std::int64_t length, const F& f) {
  T sum = 0;
  for (std::int64_t i = thread.lane; i < length; i += thread.lanes) sum += f(i);
  return combine_lanes(shared, thread, sum, Sum<T>{});
}

// The maximum of a row, and the sum of exp(x - max).
template <class T>
struct Exponentials {
  T max;
  T sum;
};
template <class T>
__device__ Exponentials<T> exponentials_of_row(T* shared, const RowThread& thread, const T* x,
                                               std::int64_t length) {
  T max = Max<T>::start;
  for (std::int64_t i = thread.lane; i < length; i += thread.lanes) max = Max<T>{}(max, x[i]);
  max = combine_lanes(shared, thread, max, Max<T>{});
  return {max, sum_of_row(shared, thread, length, [=](auto i) { return std::exp(x[i] - max); })};
}

template <class T>
__global__ void softmax_rows(const T* x, T* out, std::int64_t rows, std::int64_t length,
                             unsigned lanes) {
  __shared__ T shared[block_threads];
  for_each_row(rows, length, lanes, [&](const RowThread& thread, auto first, auto count) {
    const auto [max, sum] = exponentials_of_row(shared, thread, x + first, count);
    for (std::int64_t i = thread.lane; i < count; i += thread.lanes) {
      out[first + i] = std::exp(x[first + i] - max) / sum;
    }
  });
}

template <class T>
__global__ void layer_norm_rows(const T* x, const T* gain, const T* bias, T epsilon, T* out,
                                std::int64_t rows, std::int64_t length, unsigned lanes) {
  __shared__ T shared[block_threads];
  for_each_row(rows, length, lanes, [&](const RowThread& thread, auto first, auto count) {
    const T* const row = x + first;
    const T elements = static_cast<T>(length);
    const T mean = sum_of_row(shared, thread, count, [=](auto i) { return row[i]; }) / elements;
    const T squares = sum_of_row(shared, thread, count,
                                 [=](auto i) { return (row[i] - mean) * (row[i] - mean); });
    const T factor = 1 / std::sqrt(squares / elements + epsilon);
    for (std::int64_t i = thread.lane; i < count; i += thread.lanes) {
      out[first + i] = (row[i] - mean) * factor * gain[i] + bias[i];
    }
  });
}

template <class T>
__device__ bool is_class(T label, std::int64_t classes) {
  return label >= 0 && label < static_cast<T>(classes) && label == std::floor(label);
}

// For a single block: see note_first_row().
template <class T>
__global__ void check_labels(const T* labels, std::int64_t rows, std::int64_t classes,
                             std::int32_t* verdict) {
  note_first_row(rows, verdict, [=](std::int64_t row) { return !is_class(labels[row], classes); });
}

// The loss of each row: -log(softmax(x)[label]); 0 where the label is no class.
template <class T>
__global__ void cross_entropy_rows(const T* x, const T* labels, T* losses, std::int64_t rows,
                                   std::int64_t classes, unsigned lanes) {
  __shared__ T shared[block_threads];
  for_each_row(rows, classes, lanes, [&](const RowThread& thread, auto first, auto count) {
    const auto [max, sum] = exponentials_of_row(shared, thread, x + first, count);
    if (count == 0 || thread.lane != 0) return;
    const std::int64_t row = first / classes;
    const T label = labels[row];
    losses[row] = is_class(label, classes)
                      ? std::log(sum) + (max - x[first + static_cast<std::int64_t>(label)])
                      : T{0};
  });
}

// The mean. For a single block.
template <class T>
__global__ void mean_of(const T* x, std::int64_t count, T* out) {
  __shared__ double shared[single_block_threads];
  const double sum = sum_of_row(shared, RowThread::along_row(blockDim.x), count,
                                [=](auto i) { return static_cast<double>(x[i]); });
  if (threadIdx.x == 0) *out = static_cast<T>(sum / static_cast<double>(count));
}

// The gradient of the mean loss: (softmax(x) - 1 at the label) / rows.
template <class T>
__global__ void cross_entropy_grad_rows(const T* x, const T* labels, T* out, std::int64_t rows,
                                        std::int64_t classes, unsigned lanes) {
  __shared__ T shared[block_threads];
  for_each_row(rows, classes, lanes, [&](const RowThread& thread, auto first, auto count) {
    const auto [max, sum] = exponentials_of_row(shared, thread, x + first, count);
    const T divisor = sum * static_cast<T>(rows);
    for (std::int64_t i = thread.lane; i < count; i += thread.lanes) {
      const T share = std::exp(x[first + i] - max) / divisor;
      const bool is_label = static_cast<T>(i) == labels[first / classes];
      out[first + i] = is_label ? share - 1 / static_cast<T>(rows) : share;
    }
  });
}

}  // namespace troupe::device_kernels
