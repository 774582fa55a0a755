// Errors of the CUDA runtime, cuBLAS and cuSOLVER as run Errors.
#pragma once

#include "core/base/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

namespace troupe {

// Whether the kernels of this Troupe can't run on a GPU that says so.
bool is_built_for_others(cudaError_t status);
// The run Error for a failure of the CUDA runtime: `what` failed, what CUDA says, what to do.
Error cuda_error(cudaError_t status, std::string_view what);
// Throws a run Error if `status` isn't that of success: `what` failed, and what the library says.
void check_cuda(cudaError_t status, std::string_view what);
// The same of memory of the host that was to be pinned, so many bytes.
void check_pinned(cudaError_t status, std::size_t bytes);
void check_cuda(cublasStatus_t status, std::string_view what);
void check_cuda(cusolverStatus_t status, std::string_view what);
// Makes the GPU that of the calling thread. Throws a run Error that names it.
inline void choose_gpu(int gpu) {
  const cudaError_t status = cudaSetDevice(gpu);
  if (status != cudaSuccess) throw cuda_error(status, "choosing GPU " + std::to_string(gpu));
}

}  // namespace troupe
