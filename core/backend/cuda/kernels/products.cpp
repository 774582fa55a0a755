// matmul, gemm, syrk and trsm by cuBLAS; small products by a kernel of our own.
//
// cuBLAS counts by columns: it takes a row-major matrix for its transpose. So all equations are
// transposed: a product's factors change places, lower triangles are upper ones, and left is right.
#include "core/backend/cuda/kernels/copy_on_device.hpp"
#include "core/backend/cuda/kernels/cuda_blas.hpp"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/backend/cuda/kernels/small_product.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/product.hpp"

#include <array>
#include <limits>

namespace troupe::cuda_launchers {
namespace {

cublasOperation_t operation(bool is_transposed) {
  return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

int extent(std::int64_t value) {
  return static_cast<int>(value);  // see check_blas_extents()
}

// Calls `enqueue`, which has cuBLAS make a product. TF32 is for products only: errors of a
// triangular system, which trsm solves, grow with the condition of its matrix.
template <class F>
void with_product_math(CudaStream& on, const F& enqueue) {
  if (!on.uses_tf32) return enqueue();
  check_cuda(cublasSetMathMode(on.blas(), CUBLAS_TF32_TENSOR_OP_MATH), "choosing TF32");
  struct Reset {
    cublasHandle_t blas;
    ~Reset() { cublasSetMathMode(blas, CUBLAS_DEFAULT_MATH); }
  } const reset{on.blas()};
  enqueue();
}

// A batch of one is left to the plain function, for which cuBLAS may have better kernels.
template <class T>
cublasStatus_t multiply(cublasHandle_t blas, const Product& p, const T* a, const T* b, T* c,
                        int batch) {
  const T alpha = static_cast<T>(p.alpha);
  const T beta = static_cast<T>(p.beta);
  const cublasOperation_t op_a = operation(p.transpose_a);
  const cublasOperation_t op_b = operation(p.transpose_b);
  const int m = extent(p.m);
  const int n = extent(p.n);
  const int k = extent(p.k);
  const int lda = p.transpose_a ? m : k;
  const int ldb = p.transpose_b ? k : n;
  if (batch == 1) {
    return CudaBlasOf<T>::gemm(blas, op_b, op_a, n, m, k, &alpha, b, ldb, a, lda, &beta, c, n);
  }
  return CudaBlasOf<T>::gemm_strided_batched(blas, op_b, op_a, n, m, k, &alpha, b, ldb, p.b_stride,
                                             a, lda, p.a_stride, &beta, c, n, p.m * p.n, batch);
}

// `c_before` is C', as in multiply() of core/ops/product.hpp: null if beta is 0.
void multiply(const CudaCall& call, const Product& p, const std::byte* c_before) {
  if (c_before != nullptr) {
    copy_on_device(call, c_before, call.output.data, call.output.type.bytes());
  }
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    if (is_small(p)) return launch_small_product<T>(call, p);
    constexpr std::int64_t batch_max = std::numeric_limits<int>::max();
    for (std::int64_t first = 0; first < p.batch; first += batch_max) {
      with_product_math(call.on, [&] {
        check_cuda(multiply<T>(call.on.blas(), p, call.inputs[0].as<T>() + first * p.a_stride,
                               call.inputs[1].as<T>() + first * p.b_stride,
                               call.output.as<T>() + first * p.m * p.n,
                               extent(std::min(batch_max, p.batch - first))),
                   "cuBLAS's gemm");
      });
    }
  });
}

}  // namespace

void matmul(const CudaCall& call) {
  const std::array inputs = {call.inputs[0].type, call.inputs[1].type};
  multiply(call, product_of({.inputs = inputs, .attrs = call.attrs, .declared = {}}), nullptr);
}

void gemm(const CudaCall& call) {
  const std::array inputs = {call.inputs[0].type, call.inputs[1].type, call.inputs[2].type};
  const Product product =
      scaled_product_of({.inputs = inputs, .attrs = call.attrs, .declared = {}});
  multiply(call, product, product.beta == 0 ? nullptr : call.inputs[2].data);
}

void syrk(const CudaCall& call) {
  const Shape& a = call.inputs[0].type.shape;
  const bool transposed = call.attrs.get<bool>("transpose");
  const std::int64_t n = call.output.type.shape[0];
  copy_on_device(call, call.inputs[1].data, call.output.data, call.output.type.bytes());
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const T alpha = static_cast<T>(call.attrs.get<double>("alpha"));
    const T beta = static_cast<T>(call.attrs.get<double>("beta"));
    with_product_math(call.on, [&] {
      check_cuda(CudaBlasOf<T>::syrk(call.on.blas(), CUBLAS_FILL_MODE_UPPER, operation(!transposed),
                                     extent(n), extent(a[transposed ? 0 : 1]), &alpha,
                                     call.inputs[0].as<T>(), extent(a[1]), &beta,
                                     call.output.as<T>(), extent(n)),
                 "cuBLAS's syrk");
    });
  });
}

void trsm(const CudaCall& call) {
  const Shape& b = call.output.type.shape;
  const bool left = call.attrs.get<std::string>("side") == "left";
  copy_on_device(call, call.inputs[1].data, call.output.data, call.output.type.bytes());
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const T alpha = static_cast<T>(call.attrs.get<double>("alpha"));
    check_cuda(CudaBlasOf<T>::trsm(
                   call.on.blas(), left ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT,
                   CUBLAS_FILL_MODE_UPPER, operation(call.attrs.get<bool>("transpose")),
                   CUBLAS_DIAG_NON_UNIT, extent(b[1]), extent(b[0]), &alpha, call.inputs[0].as<T>(),
                   extent(call.inputs[0].type.shape[0]), call.output.as<T>(), extent(b[1])),
               "cuBLAS's trsm");
  });
}

}  // namespace troupe::cuda_launchers
