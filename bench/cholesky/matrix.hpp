// The matrix that all runtimes factorise, and the kernels of their tasks.
#pragma once

#include "core/ops/blas.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace troupe::bench {

// Square matrices of float64: `extent` rows and columns in all, of tiles of `tile` × `tile`.
struct Problem {
  int extent = 4096;
  int tile = 256;
  std::vector<int> cores;  // one for each thread, by OS number

  int tiles() const { return extent / tile; }
  // n³/3 + n²/2 + n/6 (LAPACK Working Note 41, 1994).
  double flops() const {
    const double n = extent;
    return n * n * n / 3 + n * n / 2 + n / 6;
  }
};

// An element of the symmetric positive definite matrix A.
double element(int row, int column);

// How far L Lᵀ is from A, relative to the largest element: compares the products of both with a
// vector. `l(row, column)` gives the elements of L on and below the diagonal.
double residual(int extent, const std::function<double(int row, int column)>& l);

// `count` numbers on huge pages, all of them touched.
class Buffer {
 public:
  explicit Buffer(std::size_t count);
  double* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(double* p) const;
  };
  std::unique_ptr<double, Free> data_;
};

// The lower triangle of A, tile by tile: a tile is stored row by row, as one piece. The functions
// below are the tasks of the tiled algorithm; each computes in place on one thread, by OpenBLAS, as
// the op of the same name does.
class TiledMatrix {
 public:
  explicit TiledMatrix(const Problem& problem);

  void fill();  // with A
  double* tile(int i, int j) const { return buffer_.data() + (i * tiles_ + j) * size_; }
  int tiles() const { return tiles_; }
  std::size_t tile_size() const { return static_cast<std::size_t>(size_); }  // elements
  // Of the L that has taken the place of A.
  double residual() const;

  // Tile (k, k) becomes its Cholesky factor. Throws a run Error if there is none.
  void potrf(int k) const;
  // Tile (i, k) is divided by the factor (k, k) transposed.
  void trsm(int i, int k) const;
  // The product of tile (i, k) with itself transposed is subtracted from tile (i, i).
  void syrk(int i, int k) const;
  // The product of tile (i, k) with tile (j, k) transposed is subtracted from tile (i, j).
  void gemm(int i, int j, int k) const;

 private:
  int tiles_;
  blasint tile_;
  std::ptrdiff_t size_;  // elements of a tile
  Buffer buffer_;
  const BlasOf<double>& blas_;
};

// How a runtime factorises a TiledMatrix. One that has tensors of its own copies the tiles to them
// before, and back after.
struct Steps {
  std::function<void()> before = [] {};
  std::function<void()> factorise;
  std::function<void()> after = [] {};
};
// Fills the matrix and takes all steps, twice. Returns the seconds of the second `factorise`, and
// throws a run Error if the result is wrong.
double time_factorisation(TiledMatrix& matrix, const Steps& steps);

// Measures one runtime once in this process, and returns seconds. Blocks.
using Measure = double (*)(const Problem&);

double measure_troupe(const Problem& problem);
double measure_lapack(const Problem& problem);

}  // namespace troupe::bench

// The Measure that each peer's module exports.
extern "C" double cholesky_measure(const troupe::bench::Problem& problem);
