// libcublas: handles, and the functions' names.
#include "tests/support/cuda/stand_in/blas_work.hpp"

using namespace troupe::testing;

cublasStatus_t troupe::testing::status_of(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return CUBLAS_STATUS_SUCCESS;
    case cudaErrorInvalidValue:
      return CUBLAS_STATUS_INVALID_VALUE;
    case cudaErrorMemoryAllocation:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case cudaErrorNoKernelImageForDevice:
      return CUBLAS_STATUS_ARCH_MISMATCH;
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
      return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "the operation completed successfully";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an invalid value was used as an argument";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the device lacks an architectural feature";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    default:
      return "the library failed";
  }
}

constexpr std::size_t handle_bytes = 64 << 20;  // as on an H200

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return status_of(
      api([&](Engine& e) { *handle = make_library_handle<cublasContext>(e, handle_bytes); }));
}

// Waits for the device, as documented.
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return status_of(api(
      [&](Engine& e) {
        const int device = expect_library_handle(e, handle, "cublasDestroy").device;
        e.handles.remove(handle);
        e.memory.give_back(device, handle_bytes);
        e.wait_for_device(device, "cublasDestroy");
      },
      CallKind::release));
}

// The workspace is the library's own again, as documented.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return status_of(api([&](Engine& e) {
    cublasContext& context = expect_library_handle(e, handle, "cublasSetStream");
    context.stream = stream;
    context.workspace = nullptr;
    context.workspace_bytes = 0;
  }));
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  return status_of(api([&](Engine& e) {
    cublasContext& context = expect_library_handle(e, handle, "cublasSetWorkspace");
    require(reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0);
    context.workspace = static_cast<std::byte*>(workspace);
    context.workspace_bytes = workspace != nullptr ? bytes : 0;
  }));
}

// All modes but TF32 compute the same here.
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return status_of(api([&](Engine& e) {
    expect_library_handle(e, handle, "cublasSetMathMode").uses_tf32 =
        mode == CUBLAS_TF32_TENSOR_OP_MATH;
  }));
}

namespace {

template <class T>
cublasStatus_t one_gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,
                        int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,
                        const T* beta, T* c, int ldc) {
  return gemm<T>("cublas gemm", handle, ta, tb, m, n, k, alpha,
                 {a, is_transposed(ta) ? k : m, is_transposed(ta) ? m : k, lda},
                 {b, is_transposed(tb) ? n : k, is_transposed(tb) ? k : n, ldb}, beta,
                 {c, m, n, ldc});
}

template <class T>
cublasStatus_t many_gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,
                         int n, int k, const T* alpha, const T* a, int lda, long long stride_a,
                         const T* b, int ldb, long long stride_b, const T* beta, T* c, int ldc,
                         long long stride_c, int count) {
  return gemm<T>("cublas gemmStridedBatched", handle, ta, tb, m, n, k, alpha,
                 {a, is_transposed(ta) ? k : m, is_transposed(ta) ? m : k, lda, stride_a, count},
                 {b, is_transposed(tb) ? n : k, is_transposed(tb) ? k : n, ldb, stride_b, count},
                 beta, {c, m, n, ldc, stride_c, count});
}

}  // namespace

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                              int m, int n, int k, const float* alpha, const float* a, int lda,
                              const float* b, int ldb, const float* beta, float* c, int ldc) {
  return one_gemm(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb,
                              int m, int n, int k, const double* alpha, const double* a, int lda,
                              const double* b, int ldb, const double* beta, double* c, int ldc) {
  return one_gemm(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t ta,
                                         cublasOperation_t tb, int m, int n, int k,
                                         const float* alpha, const float* a, int lda,
                                         long long int stride_a, const float* b, int ldb,
                                         long long int stride_b, const float* beta, float* c,
                                         int ldc, long long int stride_c, int count) {
  return many_gemm(handle, ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,
                   stride_c, count);
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t ta,
                                         cublasOperation_t tb, int m, int n, int k,
                                         const double* alpha, const double* a, int lda,
                                         long long int stride_a, const double* b, int ldb,
                                         long long int stride_b, const double* beta, double* c,
                                         int ldc, long long int stride_c, int count) {
  return many_gemm(handle, ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,
                   stride_c, count);
}

cublasStatus_t cublasSsyrk_v2(cublasHandle_t handle, cublasFillMode_t triangle,
                              cublasOperation_t transpose, int n, int k, const float* alpha,
                              const float* a, int lda, const float* beta, float* c, int ldc) {
  return syrk(handle, triangle, transpose, n, k, alpha, a, lda, beta, c, ldc);
}

cublasStatus_t cublasDsyrk_v2(cublasHandle_t handle, cublasFillMode_t triangle,
                              cublasOperation_t transpose, int n, int k, const double* alpha,
                              const double* a, int lda, const double* beta, double* c, int ldc) {
  return syrk(handle, triangle, transpose, n, k, alpha, a, lda, beta, c, ldc);
}

cublasStatus_t cublasStrsm_v2(cublasHandle_t handle, cublasSideMode_t side,
                              cublasFillMode_t triangle, cublasOperation_t transpose,
                              cublasDiagType_t diagonal, int m, int n, const float* alpha,
                              const float* a, int lda, float* b, int ldb) {
  return trsm(handle, side, triangle, transpose, diagonal, m, n, alpha, a, lda, b, ldb);
}

cublasStatus_t cublasDtrsm_v2(cublasHandle_t handle, cublasSideMode_t side,
                              cublasFillMode_t triangle, cublasOperation_t transpose,
                              cublasDiagType_t diagonal, int m, int n, const double* alpha,
                              const double* a, int lda, double* b, int ldb) {
  return trsm(handle, side, triangle, transpose, diagonal, m, n, alpha, a, lda, b, ldb);
}
