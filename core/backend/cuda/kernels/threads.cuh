// The threads of a launch: how many there are in a block, and which elements are whose.
//
// The code of all .cuh files of this folder is for the device. nvcc compiles it for GPUs, and the
// tests compile it for CPUs (tests/support/cuda/emulated_device.hpp). Therefore pointers to tensors
// are parameters of the kernel itself, `const T*` where the kernel only reads, and there are no
// instructions of warps.
#pragma once

#include <cstdint>

namespace troupe::device_kernels {

// A power of two; enough threads for all registers and the cache lines of a multiprocessor to be in
// use when several blocks share it.
constexpr unsigned block_threads = 256;

// As many as a block can have: for kernels of a single block.
constexpr unsigned single_block_threads = 1024;

// A thread takes the elements i = first_index(), first_index() + index_step(), …, so that
// neighbours access neighbouring elements.
__device__ inline std::int64_t first_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t index_step() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

}  // namespace troupe::device_kernels
