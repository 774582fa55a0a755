// The kernel of small products.
#pragma once

#include "core/backend/cuda/kernels/threads.cuh"

namespace troupe::device_kernels {

// `batch` products of matrices m × k and k × n, which may be stored transposed.
struct SmallProduct {
  bool transpose_a;
  bool transpose_b;
  int batch;
  int m;
  int n;
  int k;
};

// So many are loaded before the first is needed: the kernel takes as long as its loads that wait
// for each other.
constexpr int terms_at_once = 16;

// c = alpha a b + beta c, all by rows; if beta is 0, c isn't read. A thread computes one element.
template <class T>
__global__ void small_product(SmallProduct p, T alpha, const T* a, const T* b, T beta, T* c) {
  const int count = p.batch * p.m * p.n;
  for (std::int64_t i = first_index(); i < count; i += index_step()) {
    const int element = static_cast<int>(i);
    const int column = element % p.n;
    const int row = element / p.n % p.m;
    const int matrix = element / p.n / p.m;
    const T* x = a + matrix * p.m * p.k + (p.transpose_a ? row : row * p.k);
    const T* y = b + matrix * p.k * p.n + (p.transpose_b ? column * p.k : column);
    const int x_step = p.transpose_a ? p.m : 1;
    const int y_step = p.transpose_b ? 1 : p.n;
    T sum = 0;
    const int terms = alpha == 0 ? 0 : p.k;  // as BLAS: then a and b aren't read
    for (int first = 0; first < terms; first += terms_at_once) {
      T xs[terms_at_once];
      T ys[terms_at_once];
      for (int t = 0; t < terms_at_once; ++t) {
        const int term = first + t;
        xs[t] = term < terms ? x[term * x_step] : T{0};
        ys[t] = term < terms ? y[term * y_step] : T{0};
      }
      for (int t = 0; t < terms_at_once; ++t) sum += xs[t] * ys[t];
    }
    c[element] = beta == 0 ? alpha * sum : alpha * sum + beta * c[element];
  }
}

}  // namespace troupe::device_kernels
