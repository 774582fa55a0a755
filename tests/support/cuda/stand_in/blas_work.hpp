// The works of cuBLAS on a stream, for float and double.
#pragma once

#include "tests/support/cuda/stand_in/dense.hpp"
#include "tests/support/cuda/stand_in/library_call.hpp"

#include <algorithm>

#include <cublas_v2.h>

struct cublasContext : troupe::testing::LibraryHandle {
  static constexpr std::string_view kind = "cuBLAS handle";
  bool has_device_scalars = false;
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
  return status_of(api(what, [&](Engine& e) {
    LibraryWork work(e, expect_library_handle(e, handle, what), what);
    work.enqueue(body(work, *handle));
  }));
}

// A scalar of the host, read by the call, or one of the device, read by the work.
template <class T>
class Scalar {
 public:
  Scalar(LibraryWork& work, const cublasContext& handle, const T* at) {
    require(at != nullptr);
    if (handle.has_device_scalars) {
      at_ = work.reads(at, sizeof *at);
    } else {
      value_ = *at;
    }
  }
  T get() const { return at_ != nullptr ? *at_ : value_; }
  // Whether what it scales is read; that of a device isn't known in time.
  bool may_be_nonzero() const { return at_ != nullptr || value_ != 0; }

 private:
  const T* at_ = nullptr;
  T value_ = 0;
};

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
    const Scalar scale(work, context, alpha);
    const Scalar keep(work, context, beta);
    const bool is_empty = c.bytes() == 0;
    const T* from_a = work.reads(a.data, is_empty ? 0 : a.bytes());
    const T* from_b = work.reads(b.data, is_empty ? 0 : b.bytes());
    T* to = work.writes(c.data, c.bytes(), keep.may_be_nonzero());
    return [=, factors = context.factors()] {
      for (long long i = 0; i < c.count; ++i) {
        multiply(
            m, n, k, scale.get(),
            by_columns(from_a + i * a.stride, a.leading, is_transposed(transpose_a)),
            by_columns(from_b + i * b.stride, b.leading, is_transposed(transpose_b)), keep.get(),
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
    const Scalar scale(work, context, alpha);
    const Scalar keep(work, context, beta);
    const bool flips = is_transposed(transpose);
    const MatrixArgument<const T> stored{a, flips ? k : n, flips ? n : k, lda};
    const T* from = work.reads(a, stored.bytes());
    // The other triangle is read and written as far as the check for races goes.
    T* to = work.writes(c, MatrixArgument<T>{c, n, n, ldc}.bytes(), true);
    return [=, factors = context.factors()] {
      const auto left = by_columns(from, lda, flips);
      multiply(
          n, n, k, scale.get(), left, left.transposed(), keep.get(), by_columns(to, ldc),
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
    const Scalar scale(work, context, alpha);
    const bool is_left = side == CUBLAS_SIDE_LEFT;
    const int order = is_left ? m : n;
    const T* from = work.reads(a, MatrixArgument<const T>{a, order, order, lda}.bytes());
    T* to = work.writes(b, MatrixArgument<T>{b, m, n, ldb}.bytes(), true);
    return [=, factors = context.factors()] {
      // x a = b is solved as a' x' = b'.
      const bool flips = is_transposed(transpose) == is_left;
      const bool is_lower = (triangle == CUBLAS_FILL_MODE_LOWER) != flips;
      solve_triangular(order, is_left ? n : m, scale.get(), by_columns(from, lda, flips), is_lower,
                       diagonal == CUBLAS_DIAG_UNIT, by_columns(to, ldb, !is_left), factors);
    };
  });
}

template <class T>
cublasStatus_t geam(cublasHandle_t handle, cublasOperation_t transpose_a,
                    cublasOperation_t transpose_b, int m, int n, const T* alpha, const T* a,
                    int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {
  return blas_work("cublas geam", handle, [&](LibraryWork& work, const cublasContext& context) {
    const Scalar scale_a(work, context, alpha);
    const Scalar scale_b(work, context, beta);
    const bool flips_a = is_transposed(transpose_a);
    const bool flips_b = is_transposed(transpose_b);
    const MatrixArgument<const T> stored_a{a, flips_a ? n : m, flips_a ? m : n, lda};
    const MatrixArgument<const T> stored_b{b, flips_b ? n : m, flips_b ? m : n, ldb};
    // As documented, a matrix whose factor is 0 isn't read.
    const T* from_a = work.reads(a, scale_a.may_be_nonzero() ? stored_a.bytes() : 0);
    const T* from_b = work.reads(b, scale_b.may_be_nonzero() ? stored_b.bytes() : 0);
    T* to = work.writes(c, MatrixArgument<T>{c, m, n, ldc}.bytes());
    return [=] {
      const T x = scale_a.get();
      const T y = scale_b.get();
      const auto left = by_columns(from_a, lda, flips_a);
      const auto right = by_columns(from_b, ldb, flips_b);
      const auto sum = by_columns(to, ldc);
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < m; ++i) {
          sum(i, j) = (x == 0 ? T{0} : x * left(i, j)) + (y == 0 ? T{0} : y * right(i, j));
        }
      }
    };
  });
}

template <class T>
cublasStatus_t axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int step_x, T* y,
                    int step_y) {
  return blas_work("cublas axpy", handle, [&](LibraryWork& work, const cublasContext& context) {
    require(step_x >= 1 && step_y >= 1);
    const Scalar scale(work, context, alpha);
    const T* from = work.reads(x, bytes_of_columns(1, n, step_x, sizeof(T)));
    T* to = work.writes(y, bytes_of_columns(1, n, step_y, sizeof(T)), true);
    return [=] {
      for (std::ptrdiff_t i = 0; i < n; ++i) to[i * step_y] += scale.get() * from[i * step_x];
    };
  });
}

template <class T>
cublasStatus_t scal(cublasHandle_t handle, int n, const T* alpha, T* x, int step) {
  return blas_work("cublas scal", handle, [&](LibraryWork& work, const cublasContext& context) {
    require(step >= 1);
    const Scalar scale(work, context, alpha);
    T* values = work.writes(x, bytes_of_columns(1, n, step, sizeof(T)), true);
    return [=] {
      for (std::ptrdiff_t i = 0; i < n; ++i) values[i * step] *= scale.get();
    };
  });
}

}  // namespace troupe::testing
