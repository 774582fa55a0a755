// The works of cuBLAS on a stream, for float and double.
#pragma once

#include "tests/support/cuda/stand_in/dense.hpp"
#include "tests/support/cuda/stand_in/library_call.hpp"

#include <algorithm>
#include <string_view>

#include <cublas_v2.h>

struct cublasContext : troupe::testing::LibraryHandle {
  static constexpr std::string_view kind = "cuBLAS handle";
  bool uses_tf32 = false;

  troupe::testing::Factors factors() const {
    return uses_tf32 ? troupe::testing::Factors::tf32 : troupe::testing::Factors::exact;
  }
};

namespace troupe::testing {

cublasStatus_t status_of(cudaError_t error);

// Puts a work of cuBLAS together by body(work) and enqueues what it returns.
template <class Body>
cublasStatus_t blas_work(std::string_view what, cublasHandle_t handle, Body body) {
  return status_of(api([&](Engine& e) {
    LibraryWork work(e, expect_library_handle(e, handle, what), what);
    work.enqueue(body(work, *handle));
  }));
}

// A scalar, which is the host's: the call reads it.
template <class T>
T scalar(const T* at) {
  require(at != nullptr);
  return *at;
}

inline bool is_transposed(cublasOperation_t operation) {
  return operation != CUBLAS_OP_N;
}

// A matrix as an argument: stored as rows x columns, `leading` elements from column to column, and
// `count` of them, `stride` elements apart.
template <class T>
struct MatrixArgument {
  T* data;
  int rows;
  int columns;
  int leading;
  long long stride = 0;
  int count = 1;

  std::size_t bytes() const {
    require(leading >= std::max(1, rows) && rows >= 0 && columns >= 0 && stride >= 0 && count >= 0);
    const std::size_t one = bytes_of_columns(rows, columns, leading, sizeof(T));
    if (one == 0 || count == 0) return 0;
    return one + static_cast<std::size_t>(count - 1) * static_cast<std::size_t>(stride) * sizeof(T);
  }
};

template <class T>
cublasStatus_t gemm(std::string_view what, cublasHandle_t handle, cublasOperation_t transpose_a,
                    cublasOperation_t transpose_b, int m, int n, int k, const T* alpha,
                    MatrixArgument<const T> a, MatrixArgument<const T> b, const T* beta,
                    MatrixArgument<T> c) {
  return blas_work(what, handle, [&](LibraryWork& work, const cublasContext& context) {
    const T scale = scalar(alpha);
    const T keep = scalar(beta);
    const bool is_empty = c.bytes() == 0;
    const T* from_a = work.reads(a.data, is_empty ? 0 : a.bytes());
    const T* from_b = work.reads(b.data, is_empty ? 0 : b.bytes());
    T* to = work.writes(c.data, c.bytes(), keep != 0);
    return [=, factors = context.factors()] {
      for (long long i = 0; i < c.count; ++i) {
        multiply(
            m, n, k, scale,
            by_columns(from_a + i * a.stride, a.leading, is_transposed(transpose_a)),
            by_columns(from_b + i * b.stride, b.leading, is_transposed(transpose_b)), keep,
            by_columns(to + i * c.stride, c.leading), [](int, int) { return true; }, factors);
      }
    };
  });
}

template <class T>
cublasStatus_t syrk(cublasHandle_t handle, cublasFillMode_t triangle, cublasOperation_t transpose,
                    int n, int k, const T* alpha, const T* a, int lda, const T* beta, T* c,
                    int ldc) {
  return blas_work("cublas syrk", handle, [&](LibraryWork& work, const cublasContext& context) {
    const T scale = scalar(alpha);
    const T keep = scalar(beta);
    const bool flips = is_transposed(transpose);
    const MatrixArgument<const T> stored{a, flips ? k : n, flips ? n : k, lda};
    const T* from = work.reads(a, stored.bytes());
    // The other triangle is read and written as far as the check for races goes.
    T* to = work.writes(c, MatrixArgument<T>{c, n, n, ldc}.bytes(), true);
    return [=, factors = context.factors()] {
      const auto left = by_columns(from, lda, flips);
      multiply(
          n, n, k, scale, left, left.transposed(), keep, by_columns(to, ldc),
          [=](int i, int j) { return triangle == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j; },
          factors);
    };
  });
}

template <class T>
cublasStatus_t trsm(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle,
                    cublasOperation_t transpose, cublasDiagType_t diagonal, int m, int n,
                    const T* alpha, const T* a, int lda, T* b, int ldb) {
  return blas_work("cublas trsm", handle, [&](LibraryWork& work, const cublasContext& context) {
    const T scale = scalar(alpha);
    const bool is_left = side == CUBLAS_SIDE_LEFT;
    const int order = is_left ? m : n;
    const T* from = work.reads(a, MatrixArgument<const T>{a, order, order, lda}.bytes());
    T* to = work.writes(b, MatrixArgument<T>{b, m, n, ldb}.bytes(), true);
    return [=, factors = context.factors()] {
      // x a = b is solved as a' x' = b'.
      const bool flips = is_transposed(transpose) == is_left;
      const bool is_lower = (triangle == CUBLAS_FILL_MODE_LOWER) != flips;
      solve_triangular(order, is_left ? n : m, scale, by_columns(from, lda, flips), is_lower,
                       diagonal == CUBLAS_DIAG_UNIT, by_columns(to, ldb, !is_left), factors);
    };
  });
}

}  // namespace troupe::testing
