// Products of matrices by OpenBLAS, for the kinds that are made of them.
#pragma once

#include "core/ops/op_kind.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

// C = alpha op(A) op(B) + beta C', for row-major matrices, where op(X) is X or X transposed. C is
// m × n; k is the extent that is summed over.
struct Product {
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  double alpha = 1;
  double beta = 0;         // 0: C' isn't read
  std::int64_t batch = 1;  // this many products, whose results follow each other in memory
  // From a matrix to that of the next product; 0 if all products have the same.
  std::int64_t a_stride = 0;
  std::int64_t b_stride = 0;

  // Of one product. 2mnk: a multiplication and an addition for each term of each sum, as the
  // LINPACK and BLAS literature counts (Dongarra et al., A Set of Level 3 BLAS, ACM TOMS 16, 1990).
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

// The attributes `transpose_a` and `transpose_b`.
std::vector<AttrSpec> product_attrs();

// The axes of a factor before its last two, which count a batch of matrices.
inline std::size_t leading_axes(const Shape& factor) {
  return factor.rank() < 2 ? 0 : factor.rank() - 2;
}
// The product of the first two inputs, whose attributes are those above; a vector is a row before a
// matrix, and a column behind one. Of a batch and a single matrix, that matrix is in each product;
// if it is behind, all rows of the batch are those of one matrix. Throws a usage Error without a
// place if their types or shapes don't fit.
Product product_of(const OpSignature& op);
// The same with the attributes `alpha` and `beta`.
Product scaled_product_of(const OpSignature& op);

// Throws a usage Error without a place if `largest`, an extent, is beyond the integers of BLAS.
void check_blas_extents(const OpSignature& op, std::int64_t largest);

// Computes the product on the team. `c_before` is C', which may be `c`; nullptr if beta is 0.
// Blocks until done. T is float or double.
template <class T>
void multiply(Team& team, const Product& product, const T* a, const T* b, const T* c_before, T* c);

}  // namespace troupe
