// syrk: the lower triangle of alpha A Aᵀ + beta C by OpenBLAS, or of alpha Aᵀ A + beta C with
// `transpose`. Inputs: A and C. Above the diagonal the output is C: in BLAS, too, syrk leaves these
// elements as they are.
#include "core/ops/blas.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/panels.hpp"
#include "core/ops/product.hpp"

#include <cmath>

namespace troupe {
namespace {

TensorType syrk_type(const OpSignature& op) {
  const TensorType& a = op.inputs[0];
  if (a.shape.rank() != 2) throw unfit_inputs(op.inputs, "the first must be a matrix");
  const std::int64_t n = a.shape[op.attrs.get<bool>("transpose") ? 1 : 0];
  const TensorType c{a.dtype, Shape{n, n}};
  if (op.inputs[1] != c) throw unfit_inputs(op.inputs, "the second must be " + to_string(c));
  check_blas_extents(op, std::max(a.shape[0], a.shape[1]));
  return c;
}

// n (n + 1) k for the product (LAPACK Working Note 41, 1994), and a multiplication and an addition
// for each element of the triangle.
Work syrk_work(const OpSignature& op, const TensorType& output) {
  const Shape& a = op.inputs[0].shape;
  const auto n = static_cast<double>(output.shape[0]);
  Work work = streaming_work(op, output, 0);
  work.flops = n * (n + 1) * (static_cast<double>(a.elements()) / n + 1);
  return work;
}

// The first row of a panel of the triangle. Each panel has about as many elements: rows are the
// longer the further down they are. On one thread 16 panels of 2000² cost 18 to 33 % (float64, with
// OpenBLAS 0.3.21's kernels for AVX2 and AVX-512), of the same extent 14 to 24 %; but the last of
// the latter has an eighth of the elements.
std::int64_t first_row(std::int64_t n, std::int64_t panel, std::int64_t panels) {
  constexpr std::int64_t align = 8;  // as in Panels
  if (panel == panels) return n;
  const double part = static_cast<double>(panel) / static_cast<double>(panels);
  const auto row = static_cast<std::int64_t>(static_cast<double>(n) * std::sqrt(part));
  return row / align * align;
}

template <class T>
void rank_k_update(const CpuCall& call) {
  const BlasOf<T>& blas = Blas::instance().of<T>();
  const Shape& shape = call.inputs[0].type.shape;
  const bool transposed = call.attrs.get<bool>("transpose");
  const auto alpha = static_cast<T>(call.attrs.get<double>("alpha"));
  const auto beta = static_cast<T>(call.attrs.get<double>("beta"));
  const std::int64_t n = call.output.type.shape[0];
  const auto n_of_blas = static_cast<blasint>(n);
  const blasint k = terms_of(alpha, shape[transposed ? 0 : 1]);
  const auto lda = static_cast<blasint>(shape[1]);
  const T* const a = call.inputs[0].as<T>();
  const T* const c = call.inputs[1].as<T>();
  T* const out = call.output.as<T>();
  const double multiply_adds =
      static_cast<double>(n) * static_cast<double>(call.inputs[0].type.shape.elements()) / 2;
  const std::int64_t panels =
      cut({.rows = n, .multiply_adds = multiply_adds}, call.team.widest_team()).count();
  // A panel of rows: what is left of the square on the diagonal is an ordinary product.
  call.team.run(static_cast<std::size_t>(panels), [&](std::size_t i) {
    const std::int64_t begin = first_row(n, static_cast<std::int64_t>(i), panels);
    const std::int64_t end = first_row(n, static_cast<std::int64_t>(i) + 1, panels);
    if (begin == end) return;
    if (out != c) std::copy(c + begin * n, c + end * n, out + begin * n);
    const T* const a_panel = a + (transposed ? begin : begin * shape[1]);
    const auto rows = static_cast<blasint>(end - begin);
    if (begin > 0) {
      blas.gemm(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans,
                transposed ? CblasNoTrans : CblasTrans, rows, static_cast<blasint>(begin), k, alpha,
                a_panel, lda, a, lda, beta, out + begin * n, n_of_blas);
    }
    blas.syrk(CblasRowMajor, CblasLower, transposed ? CblasTrans : CblasNoTrans, rows, k, alpha,
              a_panel, lda, beta, out + begin * n + begin, n_of_blas);
  });
}

}  // namespace

OpKind syrk_op() {
  return {.name = "syrk",
          .summary = "the lower triangle of alpha A Aᵀ + beta C, and C above it",
          .inputs = 2,
          .attrs = {{.name = "transpose", .fallback = false},
                    {.name = "alpha", .fallback = 1.0},
                    {.name = "beta", .fallback = 1.0}},
          .in_place_of = 1,
          .type = syrk_type,
          .work = syrk_work,
          .cpu =
              [](const CpuCall& call) {
                with_element(call.output.type.dtype,
                             [&](auto element) { rank_k_update<decltype(element)>(call); });
              },
          .load = [] { Blas::instance(); }};
}

}  // namespace troupe
