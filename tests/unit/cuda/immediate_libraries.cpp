// cuBLAS and cuSOLVER for immediate_runtime.hpp, by OpenBLAS, which counts by columns, too, if it
// is asked to.
#include "core/ops/blas.hpp"

#include <cublas_v2.h>
#include <cusolverDn.h>

namespace {

using troupe::Blas;

CBLAS_TRANSPOSE transpose(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}
CBLAS_UPLO triangle(cublasFillMode_t fill) {
  return fill == CUBLAS_FILL_MODE_UPPER ? CblasUpper : CblasLower;
}

template <class T>
cublasStatus_t gemm(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, T alpha,
                    const T* a, int lda, long long stride_a, const T* b, int ldb,
                    long long stride_b, T beta, T* c, int ldc, long long stride_c, int batch) {
  for (int i = 0; i < batch; ++i) {
    Blas::instance().of<T>().gemm(CblasColMajor, transpose(op_a), transpose(op_b), m, n, k, alpha,
                                  a + i * stride_a, lda, b + i * stride_b, ldb, beta,
                                  c + i * stride_c, ldc);
  }
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t syrk(cublasFillMode_t fill, cublasOperation_t op, int n, int k, T alpha, const T* a,
                    int lda, T beta, T* c, int ldc) {
  Blas::instance().of<T>().syrk(CblasColMajor, triangle(fill), transpose(op), n, k, alpha, a, lda,
                                beta, c, ldc);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t trsm(cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t op, int m,
                    int n, T alpha, const T* a, int lda, T* b, int ldb) {
  Blas::instance().of<T>().trsm(CblasColMajor, side == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight,
                                triangle(fill), transpose(op), CblasNonUnit, m, n, alpha, a, lda, b,
                                ldb);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cusolverStatus_t potrf(cublasFillMode_t fill, int n, T* a, int lda, int* info) {
  const blasint size = n;
  const blasint step = lda;
  blasint result = 0;
  Blas::instance().of<T>().potrf(fill == CUBLAS_FILL_MODE_UPPER ? "U" : "L", &size, a, &step,
                                 &result);
  *info = static_cast<int>(result);
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

const char* cublasGetStatusString(cublasStatus_t) {
  return "unknown";
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                              int n, int k, const float* alpha, const float* a, int lda,
                              const float* b, int ldb, const float* beta, float* c, int ldc) {
  return gemm(op_a, op_b, m, n, k, *alpha, a, lda, 0, b, ldb, 0, *beta, c, ldc, 0, 1);
}
cublasStatus_t cublasDgemm_v2(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                              int n, int k, const double* alpha, const double* a, int lda,
                              const double* b, int ldb, const double* beta, double* c, int ldc) {
  return gemm(op_a, op_b, m, n, k, *alpha, a, lda, 0, b, ldb, 0, *beta, c, ldc, 0, 1);
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k,
                                         const float* alpha, const float* a, int lda,
                                         long long stride_a, const float* b, int ldb,
                                         long long stride_b, const float* beta, float* c, int ldc,
                                         long long stride_c, int batch) {
  return gemm(op_a, op_b, m, n, k, *alpha, a, lda, stride_a, b, ldb, stride_b, *beta, c, ldc,
              stride_c, batch);
}
cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t, cublasOperation_t op_a,
                                         cublasOperation_t op_b, int m, int n, int k,
                                         const double* alpha, const double* a, int lda,
                                         long long stride_a, const double* b, int ldb,
                                         long long stride_b, const double* beta, double* c, int ldc,
                                         long long stride_c, int batch) {
  return gemm(op_a, op_b, m, n, k, *alpha, a, lda, stride_a, b, ldb, stride_b, *beta, c, ldc,
              stride_c, batch);
}

cublasStatus_t cublasSsyrk_v2(cublasHandle_t, cublasFillMode_t fill, cublasOperation_t op, int n,
                              int k, const float* alpha, const float* a, int lda, const float* beta,
                              float* c, int ldc) {
  return syrk(fill, op, n, k, *alpha, a, lda, *beta, c, ldc);
}
cublasStatus_t cublasDsyrk_v2(cublasHandle_t, cublasFillMode_t fill, cublasOperation_t op, int n,
                              int k, const double* alpha, const double* a, int lda,
                              const double* beta, double* c, int ldc) {
  return syrk(fill, op, n, k, *alpha, a, lda, *beta, c, ldc);
}

cublasStatus_t cublasStrsm_v2(cublasHandle_t, cublasSideMode_t side, cublasFillMode_t fill,
                              cublasOperation_t op, cublasDiagType_t, int m, int n,
                              const float* alpha, const float* a, int lda, float* b, int ldb) {
  return trsm(side, fill, op, m, n, *alpha, a, lda, b, ldb);
}
cublasStatus_t cublasDtrsm_v2(cublasHandle_t, cublasSideMode_t side, cublasFillMode_t fill,
                              cublasOperation_t op, cublasDiagType_t, int m, int n,
                              const double* alpha, const double* a, int lda, double* b, int ldb) {
  return trsm(side, fill, op, m, n, *alpha, a, lda, b, ldb);
}

cusolverStatus_t cusolverDnSpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, float*, int,
                                             int* elements) {
  *elements = 1;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDpotrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, double*,
                                             int, int* elements) {
  *elements = 1;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSpotrf(cusolverDnHandle_t, cublasFillMode_t fill, int n, float* a,
                                  int lda, float*, int, int* info) {
  return potrf(fill, n, a, lda, info);
}
cusolverStatus_t cusolverDnDpotrf(cusolverDnHandle_t, cublasFillMode_t fill, int n, double* a,
                                  int lda, double*, int, int* info) {
  return potrf(fill, n, a, lda, info);
}
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  *handle = nullptr;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t) {
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t, cudaStream_t) {
  return CUSOLVER_STATUS_SUCCESS;
}
