// One call of LAPACK, to compare with.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <vector>

extern "C" void openblas_set_num_threads(int threads);
extern "C" void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);

// Factorises `a` [n, n] in place by OpenBLAS's own threads, which Troupe doesn't use.
inline void lapack_cholesky(std::vector<double>& a, std::size_t n, std::size_t threads) {
  openblas_set_num_threads(static_cast<int>(threads));
  const int extent = static_cast<int>(n);
  int info = 0;
  dpotrf_("L", &extent, a.data(), &extent, &info);
  if (info != 0) throw std::runtime_error("LAPACK: the matrix isn't positive definite");
}
