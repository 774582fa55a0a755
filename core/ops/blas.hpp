// The functions of OpenBLAS that kernels use. The library is loaded when the first is needed.
#pragma once

#include <cstdint>

#include <cblas.h>

namespace troupe {

// The functions for elements of type T, under the names that BLAS gives them without the letter of
// the type. `potrf` is LAPACK's, which has only an interface of Fortran: column-major, and every
// argument is a pointer.
template <class T>
struct BlasOf {
  using Gemm = void(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, blasint m, blasint n, blasint k,
                    T alpha, const T* a, blasint lda, const T* b, blasint ldb, T beta, T* c,
                    blasint ldc);
  using Gemv = void(CBLAS_ORDER, CBLAS_TRANSPOSE, blasint m, blasint n, T alpha, const T* a,
                    blasint lda, const T* x, blasint incx, T beta, T* y, blasint incy);
  using Syrk = void(CBLAS_ORDER, CBLAS_UPLO, CBLAS_TRANSPOSE, blasint n, blasint k, T alpha,
                    const T* a, blasint lda, T beta, T* c, blasint ldc);
  using Trsm = void(CBLAS_ORDER, CBLAS_SIDE, CBLAS_UPLO, CBLAS_TRANSPOSE, CBLAS_DIAG, blasint m,
                    blasint n, T alpha, const T* a, blasint lda, T* b, blasint ldb);
  using Trsv = void(CBLAS_ORDER, CBLAS_UPLO, CBLAS_TRANSPOSE, CBLAS_DIAG, blasint n, const T* a,
                    blasint lda, T* x, blasint incx);
  using Potrf = void(const char* uplo, const blasint* n, T* a, const blasint* lda, blasint* info);

  Gemm* gemm = nullptr;
  Gemv* gemv = nullptr;
  Syrk* syrk = nullptr;
  Trsm* trsm = nullptr;
  Trsv* trsv = nullptr;
  Potrf* potrf = nullptr;
};

// Loaded only when needed: at load, OpenBLAS by default starts a thread for each core, and these
// threads spin for about 10 ms. Simulations and runs without such ops don't load the library. It is
// loaded single-threaded: the device's team computes panels in parallel, while OpenBLAS's own
// threads would be unpinned and shared by all devices.
struct Blas {
  BlasOf<float> f32;
  BlasOf<double> f64;

  template <class T>
  const BlasOf<T>& of() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }

  // The first call loads the library and blocks for some milliseconds. Throws a run Error if the
  // library can't be loaded. Thread-safe.
  static const Blas& instance();
};

// For how many terms of each sum a product is to be asked. If alpha is 0, BLAS must not read the
// factors. OpenBLAS's kernels for small products do, and NaNs come through; with none they can't.
template <class T>
blasint terms_of(T alpha, std::int64_t k) {
  return alpha == 0 ? 0 : static_cast<blasint>(k);
}

}  // namespace troupe
