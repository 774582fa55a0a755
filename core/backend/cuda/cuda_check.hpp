// Errors of the CUDA runtime, cuBLAS and cuSOLVER as run Errors.
#pragma once

#include "core/base/error.hpp"

#include <string_view>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

namespace troupe {

// The run Error for a failure of the CUDA runtime: `what` failed, what CUDA says, what to do.
Error cuda_error(cudaError_t status, std::string_view what);
// Throws a run Error if `status` isn't that of success: `what` failed, and what the library says.
void check_cuda(cudaError_t status, std::string_view what);
void check_cuda(cublasStatus_t status, std::string_view what);
void check_cuda(cusolverStatus_t status, std::string_view what);

}  // namespace troupe
