// The dense linear algebra of the stand-in, in plain loops. Sums are made in double precision.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::testing {

// A matrix in memory; element (i, j) is data[i * row + j * column].
template <class T>
struct Matrix {
  T* data = nullptr;
  std::ptrdiff_t row = 1;
  std::ptrdiff_t column = 0;

  T& operator()(std::ptrdiff_t i, std::ptrdiff_t j) const { return data[i * row + j * column]; }
  Matrix transposed() const { return {data, column, row}; }
};

// A matrix as BLAS stores it: column by column, `leading` elements apart.
template <class T>
Matrix<T> by_columns(T* data, int leading, bool is_transposed = false) {
  const Matrix<T> stored{data, 1, leading};
  return is_transposed ? stored.transposed() : stored;
}

// How a product takes its factors: as they are, or, if they are float, in TF32, which has 10 bits
// of mantissa. The others are cut, which is the most that a GPU may be off.
enum class Factors : std::uint8_t { exact, tf32 };
inline double factor(double value, Factors) {
  return value;
}
inline double factor(float value, Factors factors) {
  if (factors == Factors::exact) return value;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & ~0x1FFFU);
}

// c = alpha a b + beta c, for the elements (i, j) that wanted(i, j) chooses. c isn't read if beta
// is 0. a is m x k, b is k x n.
template <class T, class Wanted>
void multiply(int m, int n, int k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta,
              Matrix<T> c, Wanted wanted, Factors factors = Factors::exact) {
  std::vector<double> sums(static_cast<std::size_t>(m));
  for (int j = 0; j < n; ++j) {
    sums.assign(sums.size(), 0);
    for (int l = 0; l < k; ++l) {
      const double right = factor(b(l, j), factors);
      for (int i = 0; i < m; ++i) {
        sums[static_cast<std::size_t>(i)] += factor(a(i, l), factors) * right;
      }
    }
    for (int i = 0; i < m; ++i) {
      if (!wanted(i, j)) continue;
      const double before = beta == 0 ? 0 : double{beta} * double{c(i, j)};
      c(i, j) = static_cast<T>(double{alpha} * sums[static_cast<std::size_t>(i)] + before);
    }
  }
}

// Solves a x = alpha b, where a is m x m and triangular, and b is m x n. Leaves x in b.
template <class T>
void solve_triangular(int m, int n, T alpha, Matrix<const T> a, bool is_lower,
                      bool has_unit_diagonal, Matrix<T> b, Factors factors = Factors::exact) {
  for (int j = 0; j < n; ++j) {
    for (int step = 0; step < m; ++step) {
      const int i = is_lower ? step : m - 1 - step;
      double rest = double{alpha} * double{b(i, j)};
      for (int before = 0; before < step; ++before) {
        const int l = is_lower ? before : m - 1 - before;
        rest -= factor(a(i, l), factors) * factor(b(l, j), factors);
      }
      b(i, j) = static_cast<T>(has_unit_diagonal ? rest : rest / double{a(i, i)});
    }
  }
}

// Replaces the lower triangle of a by its Cholesky factor; the rest of a isn't touched. Returns 0,
// or the number, from 1, of the first leading minor that isn't positive definite. As in cuSOLVER,
// what is no number passes.
template <class T>
std::int32_t factor_cholesky(int n, Matrix<T> a) {
  for (int j = 0; j < n; ++j) {
    double diagonal = a(j, j);
    for (int l = 0; l < j; ++l) diagonal -= double{a(j, l)} * double{a(j, l)};
    if (diagonal <= 0) return j + 1;
    diagonal = std::sqrt(diagonal);
    a(j, j) = static_cast<T>(diagonal);
    for (int i = j + 1; i < n; ++i) {
      double sum = a(i, j);
      for (int l = 0; l < j; ++l) sum -= double{a(i, l)} * double{a(j, l)};
      a(i, j) = static_cast<T>(sum / diagonal);
    }
  }
  return 0;
}

}  // namespace troupe::testing
