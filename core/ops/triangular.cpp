#include "core/ops/triangular.hpp"

#include <cstddef>
#include <limits>
#include <utility>

namespace troupe {
namespace {

// Systems of at most this extent are left to OpenBLAS. Larger ones are halved: one half is solved,
// what this says of the other is a product, and OpenBLAS computes products faster than systems.
//
// Measured with OpenBLAS 0.3.21's AVX-512 kernels on one core of an AMD EPYC, the time in units of
// that of one call, for 256 × 256 to 1024 × 1024: float64 0.77 to 0.90 on the left side, 0.86 to
// 0.97 on the right, with blocks of 128 some hundredths more, and down to 0.26 where B has a single
// column; float32 0.92 to 1.06.
template <class T>
constexpr blasint extent_max = sizeof(T) == sizeof(double) ? 64
                                                           : std::numeric_limits<blasint>::max();

// So many columns of B, or rows on the right side, are solved one by one: OpenBLAS packs L for
// trsm, which takes longer than to read it for each. Measured on one core of an AMD EPYC, for 256
// to 3,000 rows, trsm in units of trsv: float32 one column 3.1 to 8.8, three 1.4 to 3.3, four 0.9
// to 2.3; float64, in halves, one 1.4 to 3.5, two 0.7 to 1.8.
template <class T>
constexpr blasint thin = sizeof(T) == sizeof(double) ? 1 : 3;

CBLAS_TRANSPOSE op_of_l(const TriangularSystem& system) {
  return system.transpose ? CblasTrans : CblasNoTrans;
}

blasint extent_of(const TriangularSystem& system) {
  return system.is_left ? system.rows : system.columns;
}

// x = alpha x minus the product of `l`, a block of L, with `solved`, a part of X of this extent. x
// is a part of the system's X.
template <class T>
void subtract_product(const TriangularSystem& system, blasint extent, const T* l, const T* solved,
                      T alpha, T* x) {
  const auto& gemm = *Blas::instance().of<T>().gemm;
  const T minus_one = -1;
  if (system.is_left) {
    gemm(CblasRowMajor, op_of_l(system), CblasNoTrans, system.rows, system.columns, extent,
         minus_one, l, system.l_stride, solved, system.x_stride, alpha, x, system.x_stride);
  } else {
    gemm(CblasRowMajor, CblasNoTrans, op_of_l(system), system.rows, system.columns, extent,
         minus_one, solved, system.x_stride, l, system.l_stride, alpha, x, system.x_stride);
  }
}

// One column of B after the other, or one row on the right side: there, X L = B is L' X' = B'.
template <class T>
void solve_each(const TriangularSystem& system, T alpha, const T* l, T* x) {
  const bool transpose = system.is_left == system.transpose;
  const blasint count = system.is_left ? system.columns : system.rows;
  const blasint step = system.is_left ? system.x_stride : 1;
  const blasint extent = extent_of(system);
  for (blasint i = 0; i < count; ++i, x += system.is_left ? 1 : system.x_stride) {
    if (alpha != 1) {
      for (std::ptrdiff_t k = 0; k < extent; ++k) x[k * step] *= alpha;
    }
    Blas::instance().of<T>().trsv(CblasRowMajor, CblasLower, transpose ? CblasTrans : CblasNoTrans,
                                  CblasNonUnit, extent, l, system.l_stride, x, step);
  }
}

}  // namespace

template <class T>
void solve(const TriangularSystem& system, T alpha, const T* l, T* x) {
  const blasint extent = extent_of(system);
  if (alpha != 0 && (system.is_left ? system.columns : system.rows) <= thin<T>) {
    return solve_each(system, alpha, l, x);
  }
  if (extent <= extent_max<T> || alpha == 0) {
    return Blas::instance().of<T>().trsm(
        CblasRowMajor, system.is_left ? CblasLeft : CblasRight, CblasLower, op_of_l(system),
        CblasNonUnit, system.rows, system.columns, alpha, l, system.l_stride, x, system.x_stride);
  }
  // L is (L1 0; L' L2), and X accordingly X1 and X2, which lie below or beside each other.
  constexpr blasint align = 8;
  const blasint half = (extent / 2 + align - 1) / align * align;
  const T* const l_below = l + std::ptrdiff_t{half} * system.l_stride;
  const auto with_extent = [&system](blasint part) {
    TriangularSystem smaller = system;
    (system.is_left ? smaller.rows : smaller.columns) = part;
    return smaller;
  };
  struct Half {
    TriangularSystem system;
    const T* l;
    T* x;
  };
  Half first{with_extent(half), l, x};
  Half second{with_extent(extent - half), l_below + half,
              x + (system.is_left ? std::ptrdiff_t{half} * system.x_stride : half)};
  if (system.is_left == system.transpose) std::swap(first, second);
  solve(first.system, alpha, first.l, first.x);
  subtract_product(second.system, extent_of(first.system), l_below, first.x, alpha, second.x);
  solve(second.system, T{1}, second.l, second.x);
}

template void solve(const TriangularSystem&, float, const float*, float*);
template void solve(const TriangularSystem&, double, const double*, double*);

}  // namespace troupe
