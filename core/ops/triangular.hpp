// Triangular systems of equations, for the op trsm.
#pragma once

#include "core/ops/blas.hpp"

namespace troupe {

// op(L) X = alpha B, or X op(L) = alpha B, for row-major matrices, where op(L) is L or L
// transposed. L is lower triangular: elements above its diagonal aren't read. X and B are
// rows × columns; L has as many rows as X on the left side, as many as X has columns on the right.
struct TriangularSystem {
  bool is_left = true;
  bool transpose = false;
  blasint rows = 0;
  blasint columns = 0;
  blasint l_stride = 0;  // elements from a row of L to the next
  blasint x_stride = 0;
};

// Solves the system on the calling thread; X takes the place of B. A zero on the diagonal gives
// infinities or NaNs. T is float or double.
template <class T>
void solve(const TriangularSystem& system, T alpha, const T* l, T* x);

}  // namespace troupe
