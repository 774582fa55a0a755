// The kernel of small products.
#pragma once

namespace troupe::device_kernels {

// `batch` products of matrices m × k and k × n, which may be stored transposed.
struct SmallProduct {
  bool transpose_a;
  bool transpose_b;
  int batch;
  int m;
  int n;
  int k;
  int a_stride;  // from a matrix to the next one
  int b_stride;
};

// Of m, n and k.
constexpr int small_extent_max = 64;
// A block computes a tile of so many rows and columns, a thread one element of it.
constexpr int small_tile = 16;
constexpr unsigned small_block_threads = small_tile * small_tile;

// c = alpha a b + beta c, all by rows; if beta is 0, c isn't read. All that a tile needs is loaded
// at once: loads that wait for each other would take most of the time. There is a block for each
// tile of each product.
template <class T>
__global__ void small_product(SmallProduct p, T alpha, const T* a, const T* b, T beta, T* c) {
  // One more than there are: then the threads that fill a column use different banks.
  __shared__ T rows[small_tile][small_extent_max + 1];
  __shared__ T columns[small_extent_max][small_tile + 1];
  const int tiles_across = (p.n + small_tile - 1) / small_tile;
  const int tiles = tiles_across * ((p.m + small_tile - 1) / small_tile);
  const int block = static_cast<int>(blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int matrix = block / tiles;
  const int first_row = block % tiles / tiles_across * small_tile;
  const int first_column = block % tiles % tiles_across * small_tile;
  const T* const x = a + matrix * p.a_stride;
  const T* const y = b + matrix * p.b_stride;
  const int terms = alpha == 0 ? 0 : p.k;  // as BLAS: then a and b aren't read

  constexpr int threads = static_cast<int>(small_block_threads);
  for (int i = thread; i < small_tile * small_extent_max; i += threads) {
    // Neighbours load what are neighbours in memory.
    const int row = p.transpose_a ? i % small_tile : i / small_extent_max;
    const int term = p.transpose_a ? i / small_tile : i % small_extent_max;
    const int from = first_row + row;
    rows[row][term] = from < p.m && term < terms
                          ? x[p.transpose_a ? term * p.m + from : from * p.k + term]
                          : T{0};
  }
  for (int i = thread; i < small_tile * small_extent_max; i += threads) {
    const int column = p.transpose_b ? i / small_extent_max : i % small_tile;
    const int term = p.transpose_b ? i % small_extent_max : i / small_tile;
    const int from = first_column + column;
    columns[term][column] = from < p.n && term < terms
                                ? y[p.transpose_b ? from * p.k + term : term * p.n + from]
                                : T{0};
  }
  __syncthreads();

  const int row = thread / small_tile;
  const int column = thread % small_tile;
  if (first_row + row >= p.m || first_column + column >= p.n) return;
  T sum = 0;
  for (int term = 0; term < terms; ++term) sum += rows[row][term] * columns[term][column];
  T& element = c[(matrix * p.m + first_row + row) * p.n + first_column + column];
  element = beta == 0 ? alpha * sum : alpha * sum + beta * element;
}

}  // namespace troupe::device_kernels
