// The launch of a kernel as a value: what <<<…>>> takes.
#pragma once

#include "core/backend/cuda/cuda_check.hpp"

#include <cstddef>
#include <span>

#include <cuda_runtime_api.h>

namespace troupe {

struct KernelLaunch {
  const void* kernel = nullptr;  // the function that <<<…>>> would be behind
  unsigned blocks = 1;
  unsigned threads = 1;                     // of a block
  void** arguments = nullptr;               // where each argument is
  std::span<const std::size_t> bytes = {};  // of each
};

// Enqueues the kernel. Throws a run Error if it can't be launched.
inline void enqueue(const KernelLaunch& launch, cudaStream_t stream) {
  check_cuda(cudaLaunchKernel(launch.kernel, dim3(launch.blocks), dim3(launch.threads),
                              launch.arguments, 0, stream),
             "launching a kernel");
}

}  // namespace troupe
