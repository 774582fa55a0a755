// CUDA's words in device code, for the C++ compiler. Include it before the .cuh files of
// core/backend/cuda/kernels, and no header of CUDA's.
#pragma once

#include "tests/support/cuda/block_threads.hpp"

#include <chrono>
#include <cstdint>
#include <thread>

// Kernels get a namespace of their own: a program that has the launchers, too, contains functions
// with the kernels' names, which launch them.
#define device_kernels emulated_kernels

#define __global__
#define __device__
#define __host__
#define __shared__ static thread_local

// The thread that runs, and its grid.
constinit inline thread_local troupe::testing::KernelDim threadIdx{0, 0, 0};
constinit inline thread_local troupe::testing::KernelDim blockIdx{0, 0, 0};
constinit inline thread_local troupe::testing::KernelDim blockDim{};
constinit inline thread_local troupe::testing::KernelDim gridDim{};

inline void __syncthreads() {
  const troupe::testing::KernelDim thread = threadIdx;
  troupe::testing::wait_for_block();
  threadIdx = thread;
}

inline void __nanosleep(unsigned ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

namespace troupe::device_kernels {

inline std::int64_t device_time_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace troupe::device_kernels
