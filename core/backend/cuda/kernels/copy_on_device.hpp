// Copies within the memory of a device, for launchers.
#pragma once

#include "core/backend/cuda/cuda_call.hpp"
#include "core/backend/cuda/cuda_check.hpp"

namespace troupe {

// Enqueues a copy of `bytes` bytes, unless both places are the same. Throws as CudaKernels do.
inline void copy_on_device(const CudaCall& call, const void* from, void* to, std::uint64_t bytes) {
  if (from == to) return;
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, call.on.stream()),
             "copying a tensor");
}

}  // namespace troupe
