// potrf: the Cholesky factor of a symmetric positive definite matrix A, by OpenBLAS: the lower
// triangular L with L Lᵀ = A. Elements of A above the diagonal aren't read; those of L are 0.
//
// Computed by one thread: large matrices are cut into tiles, for which there are trsm, syrk and
// gemm.
#include "core/ops/blas.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/failures.hpp"
#include "core/ops/product.hpp"

namespace troupe {
namespace {

TensorType potrf_type(const OpSignature& op) {
  const Shape& a = op.inputs[0].shape;
  if (a.rank() != 2 || a[0] != a[1]) {
    throw unfit_inputs(op.inputs, "it must be a matrix with as many rows as columns");
  }
  check_blas_extents(op, a[0]);
  return op.inputs[0];
}

// n³/3 + n²/2 + n/6 (LAPACK Working Note 41, 1994).
Work potrf_work(const OpSignature& op, const TensorType& output) {
  const auto n = static_cast<double>(output.shape[0]);
  Work work = streaming_work(op, output, 0);
  work.flops = n * n * n / 3 + n * n / 2 + n / 6;
  return work;
}

// The upper triangle for Fortran, which counts by columns, is the lower one by rows.
template <class T>
void factorise(const CpuCall& call) {
  const std::int64_t n = call.output.type.shape[0];
  const T* const a = call.inputs[0].as<T>();
  T* const l = call.output.as<T>();
  for (std::int64_t row = 0; row < n; ++row) {
    if (l != a) std::copy_n(a + row * n, row + 1, l + row * n);
    std::fill(l + row * n + row + 1, l + (row + 1) * n, T{0});
  }
  const auto n_of_blas = static_cast<blasint>(n);
  blasint info = 0;
  Blas::instance().of<T>().potrf("U", &n_of_blas, l, &n_of_blas, &info);
  if (info > 0) throw not_positive_definite(info);
  // LAPACK lets values through that are no numbers.
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(l[i * n + i] > 0)) throw not_positive_definite(i + 1);
  }
}

}  // namespace

OpKind potrf_op() {
  return {.name = "potrf",
          .summary = "the lower triangular L with L Lᵀ = A, for positive definite A (Cholesky)",
          .inputs = 1,
          .in_place_of = 0,
          .type = potrf_type,
          .work = potrf_work,
          .cpu =
              [](const CpuCall& call) {
                with_element(call.output.type.dtype,
                             [&](auto element) { factorise<decltype(element)>(call); });
              },
          .load = [] { Blas::instance(); }};
}

}  // namespace troupe
