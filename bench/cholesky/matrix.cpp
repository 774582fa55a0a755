#include "bench/cholesky/matrix.hpp"

#include "core/base/error.hpp"
#include "core/base/huge_pages.hpp"
#include "core/ops/triangular.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <span>

#include <fmt/format.h>

namespace troupe::bench {

double element(int row, int column) {
  return row == column ? 8 : 1.0 / (1 + std::abs(row - column));
}

double residual(int extent, const std::function<double(int, int)>& l) {
  const auto n = static_cast<std::size_t>(extent);
  std::vector<double> x(n);
  std::vector<double> y(n, 0);  // Lᵀ x
  for (int i = 0; i < extent; ++i) x[i] = std::sin(1 + i);
  for (int i = 0; i < extent; ++i) {
    for (int j = 0; j <= i; ++j) y[j] += l(i, j) * x[i];
  }
  double largest = 0;
  for (int i = 0; i < extent; ++i) {
    double difference = 0;
    for (int j = 0; j <= i; ++j) difference += l(i, j) * y[j];
    for (int j = 0; j < extent; ++j) difference -= element(i, j) * x[j];
    largest = std::max(largest, std::abs(difference));
  }
  return largest / element(0, 0);
}

Buffer::Buffer(std::size_t count) {
  const std::size_t bytes =
      (count * sizeof(double) + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  data_.reset(static_cast<double*>(std::aligned_alloc(huge_page_bytes, bytes)));
  if (!data_) throw run_error("there is no memory for the matrix");
  use_huge_pages(std::as_bytes(std::span(data_.get(), bytes / sizeof(double))));
  std::memset(data_.get(), 0, bytes);
}

void Buffer::Free::operator()(double* p) const {
  std::free(p);
}

TiledMatrix::TiledMatrix(const Problem& problem)
    : tiles_(problem.tiles()),
      tile_(problem.tile),
      size_(std::ptrdiff_t{problem.tile} * problem.tile),
      buffer_(static_cast<std::size_t>(problem.extent) * problem.extent),
      blas_(Blas::instance().of<double>()) {}

void TiledMatrix::fill() {
  for (int i = 0; i < tiles_; ++i) {
    for (int j = 0; j <= i; ++j) {
      double* out = tile(i, j);
      for (int row = i * tile_; row < (i + 1) * tile_; ++row) {
        for (int column = j * tile_; column < (j + 1) * tile_; ++column) {
          *out++ = element(row, column);
        }
      }
    }
  }
}

double TiledMatrix::residual() const {
  return bench::residual(tiles_ * tile_, [this](int row, int column) {
    return tile(row / tile_, column / tile_)[row % tile_ * tile_ + column % tile_];
  });
}

// The upper triangle for Fortran, which counts by columns, is the lower one by rows.
void TiledMatrix::potrf(int k) const {
  blasint info = 0;
  blas_.potrf("U", &tile_, tile(k, k), &tile_, &info);
  if (info != 0) throw run_error("the matrix is not positive definite");
}

void TiledMatrix::trsm(int i, int k) const {
  const TriangularSystem system{.is_left = false,
                                .transpose = true,
                                .rows = tile_,
                                .columns = tile_,
                                .l_stride = tile_,
                                .x_stride = tile_};
  solve(system, 1.0, tile(k, k), tile(i, k));
}

void TiledMatrix::syrk(int i, int k) const {
  blas_.syrk(CblasRowMajor, CblasLower, CblasNoTrans, tile_, tile_, -1, tile(i, k), tile_, 1,
             tile(i, i), tile_);
}

void TiledMatrix::gemm(int i, int j, int k) const {
  blas_.gemm(CblasRowMajor, CblasNoTrans, CblasTrans, tile_, tile_, tile_, -1, tile(i, k), tile_,
             tile(j, k), tile_, 1, tile(i, j), tile_);
}

double time_factorisation(TiledMatrix& matrix, const Steps& steps) {
  double seconds = 0;
  for (int i = 0; i < 2; ++i) {
    matrix.fill();
    steps.before();
    const auto begin = std::chrono::steady_clock::now();
    steps.factorise();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    steps.after();
  }
  if (!(matrix.residual() < 1e-12)) throw run_error("the factor is wrong");
  return seconds;
}

}  // namespace troupe::bench
