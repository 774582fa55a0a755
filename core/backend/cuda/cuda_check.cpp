#include "core/backend/cuda/cuda_check.hpp"

#include "core/base/error.hpp"

#include <fmt/format.h>

namespace troupe {

void check_cuda(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  throw run_error(fmt::format("{} failed: {} ({})", what, cudaGetErrorString(status),
                              cudaGetErrorName(status)));
}

void check_cuda(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw run_error(fmt::format("{} failed: {}", what, cublasGetStatusString(status)));
}

void check_cuda(cusolverStatus_t status, std::string_view what) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  throw run_error(
      fmt::format("{} failed: cuSOLVER's status is {}", what, static_cast<int>(status)));
}

}  // namespace troupe
