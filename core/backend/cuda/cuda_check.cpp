#include "core/backend/cuda/cuda_check.hpp"

#include "core/base/units.hpp"

#include <string>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr const char* more_memory =
    "end other processes that use the GPU, keep fewer tensors at once, or give its memory less in "
    "the machine file";

const char* remedy_for(cudaError_t status) {
  if (is_built_for_others(status)) {
    return "this Troupe was built for other GPUs: build it with -D "
           "CMAKE_CUDA_ARCHITECTURES=native, or install a newer driver";
  }
  switch (status) {
    case cudaErrorMemoryAllocation:
      return more_memory;
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
      return "an op before this one may be at fault: run it again under compute-sanitizer, which "
             "names the kernel";
    default:
      return "see what nvidia-smi and the kernel's log (dmesg) say of the GPU";
  }
}

}  // namespace

bool is_built_for_others(cudaError_t status) {
  switch (status) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorJitCompilationDisabled:
      return true;
    default:
      return false;
  }
}

Error cuda_error(cudaError_t status, std::string_view what) {
  return run_error(
      fmt::format("{} failed: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status)),
      remedy_for(status));
}

void check_cuda(cudaError_t status, std::string_view what) {
  if (status != cudaSuccess) throw cuda_error(status, what);
}

void check_pinned(cudaError_t status, std::size_t bytes) {
  if (status == cudaSuccess) return;
  const std::string what = fmt::format("pinning {} of the host's memory", format_bytes(bytes));
  const Error error = cuda_error(status, what);
  if (status != cudaErrorMemoryAllocation) throw error;
  throw run_error(error.problem(), "free some of the host's memory, or use less of it");
}

void check_cuda(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check_cuda(cudaPeekAtLastError(), what);  // of a kernel before: says more
  throw run_error(
      fmt::format("{} failed: {}", what, cublasGetStatusString(status)),
      status == CUBLAS_STATUS_ALLOC_FAILED ? more_memory : remedy_for(cudaErrorUnknown));
}

void check_cuda(cusolverStatus_t status, std::string_view what) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  check_cuda(cudaPeekAtLastError(), what);
  throw run_error(
      fmt::format("{} failed: cuSOLVER's status is {}", what, static_cast<int>(status)),
      status == CUSOLVER_STATUS_ALLOC_FAILED ? more_memory : remedy_for(cudaErrorUnknown));
}

}  // namespace troupe
