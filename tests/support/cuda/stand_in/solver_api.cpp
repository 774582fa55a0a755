// libcusolver: the Cholesky factorisation of dense matrices.
#include "tests/support/cuda/stand_in/dense.hpp"
#include "tests/support/cuda/stand_in/library_call.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <cusolverDn.h>

using namespace troupe::testing;

struct cusolverDnContext : LibraryHandle {
  static constexpr std::string_view kind = "cuSOLVER handle";
};

namespace {

cusolverStatus_t status_of(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return CUSOLVER_STATUS_SUCCESS;
    case cudaErrorInvalidValue:
      return CUSOLVER_STATUS_INVALID_VALUE;
    case cudaErrorMemoryAllocation:
      return CUSOLVER_STATUS_ALLOC_FAILED;
    case cudaErrorNoKernelImageForDevice:
      return CUSOLVER_STATUS_ARCH_MISMATCH;
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
      return CUSOLVER_STATUS_NOT_INITIALIZED;
    default:
      return CUSOLVER_STATUS_EXECUTION_FAILED;
  }
}

// As many elements as n columns of a tile.
int workspace_elements(int n) {
  return std::max(1, 32 * n);
}

cusolverStatus_t workspace_size(cusolverDnHandle_t handle, int n, int leading, int* elements) {
  constexpr std::string_view what = "cusolverDn potrf_bufferSize";
  return status_of(api([&](Engine& e) {
    expect_library_handle(e, handle, what);
    require(n >= 0 && leading >= std::max(1, n));
    *elements = workspace_elements(n);
  }));
}

template <class T>
cusolverStatus_t factor(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n, T* a,
                        int leading, T* workspace, int elements, int* info) {
  constexpr std::string_view what = "cusolverDn potrf";
  return status_of(api([&](Engine& e) {
    LibraryWork work(e, expect_library_handle(e, handle, what), what);
    require(n >= 0 && leading >= std::max(1, n) && elements >= workspace_elements(n));
    T* matrix = work.writes(a, bytes_of_columns(n, n, leading, sizeof(T)), true);
    const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(T);
    T* buffer = work.writes(workspace, bytes);
    int* verdict = work.writes(info, sizeof *info);
    work.enqueue([=] {
      std::memset(buffer, 0xff, bytes);
      *verdict =
          factor_cholesky(n, by_columns(matrix, leading, triangle != CUBLAS_FILL_MODE_LOWER));
    });
  }));
}

}  // namespace

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  return status_of(api([&](Engine& e) { *handle = make_library_handle<cusolverDnContext>(e); }));
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  return status_of(api(
      [&](Engine& e) {
        expect_library_handle(e, handle, "cusolverDnDestroy");
        e.handles.remove(handle);
      },
      CallKind::release));
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  return status_of(api(
      [&](Engine& e) { expect_library_handle(e, handle, "cusolverDnSetStream").stream = stream; }));
}

cusolverStatus_t cusolverDnSpotrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t /*part*/,
                                             int n, float* /*a*/, int leading, int* elements) {
  return workspace_size(handle, n, leading, elements);
}

cusolverStatus_t cusolverDnDpotrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t /*part*/,
                                             int n, double* /*a*/, int leading, int* elements) {
  return workspace_size(handle, n, leading, elements);
}

cusolverStatus_t cusolverDnSpotrf(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,
                                  float* a, int leading, float* workspace, int elements,
                                  int* info) {
  return factor(handle, triangle, n, a, leading, workspace, elements, info);
}

cusolverStatus_t cusolverDnDpotrf(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,
                                  double* a, int leading, double* workspace, int elements,
                                  int* info) {
  return factor(handle, triangle, n, a, leading, workspace, elements, info);
}
