// matmul: C = op(A) op(B) by OpenBLAS. op(X) is X, or X transposed if the attributes say so.
#include "core/ops/blas.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

namespace troupe {
namespace {

bool transpose_a(const Attrs& attrs) {
  return std::get<bool>(attrs[0]);
}
bool transpose_b(const Attrs& attrs) {
  return std::get<bool>(attrs[1]);
}

// C is m × n. k is the extent that is summed over.
struct Extents {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;    // of op(A)
  std::int64_t k_b = 0;  // of op(B); must equal k
};

Extents extents_of(const Shape& a, const Shape& b, const Attrs& attrs) {
  const bool ta = transpose_a(attrs);
  const bool tb = transpose_b(attrs);
  return {.m = a[ta ? 1 : 0], .n = b[tb ? 0 : 1], .k = a[ta ? 0 : 1], .k_b = b[tb ? 1 : 0]};
}

TensorType type(const OpSignature& op) {
  const TensorType& a = op.inputs[0];
  const TensorType& b = op.inputs[1];
  const auto inputs = [&] {
    return fmt::format("the inputs are {}{} and {}{}", to_string(a),
                       transpose_a(op.attrs) ? " (transposed)" : "", to_string(b),
                       transpose_b(op.attrs) ? " (transposed)" : "");
  };
  if (a.dtype != b.dtype) throw usage_error(inputs(), "both must have the same type");
  if (a.shape.rank() != 2 || b.shape.rank() != 2) {
    throw usage_error(inputs(), "both must be matrices: shapes of two extents");
  }
  constexpr std::int64_t extent_max = std::numeric_limits<blasint>::max();
  const Extents e = extents_of(a.shape, b.shape, op.attrs);
  if (e.k != e.k_b) {
    throw usage_error(inputs(), fmt::format("the columns of the first ({}) must be as many as the "
                                            "rows of the second ({})",
                                            e.k, e.k_b));
  }
  if (std::max({e.m, e.n, e.k}) > extent_max) {
    throw usage_error(inputs(), fmt::format("OpenBLAS takes extents up to {}", extent_max));
  }
  return {a.dtype, Shape{e.m, e.n}};
}

// 2mnk FLOPs: a multiplication and an addition for each term of each sum, as the LINPACK and BLAS
// literature counts (Dongarra et al., A Set of Level 3 BLAS, ACM TOMS 16, 1990). Bytes are the
// minimum: each matrix is read or written once.
Work work(const OpSignature& op, const TensorType& output) {
  const Extents e = extents_of(op.inputs[0].shape, op.inputs[1].shape, op.attrs);
  Work work = streaming_work(op, output, 0);
  work.flops = 2.0 * static_cast<double>(e.m) * static_cast<double>(e.n) * static_cast<double>(e.k);
  return work;
}

// How C is split into panels for a team. Depends on the shape alone: OpenBLAS may round differently
// in a block of another shape, and results must not depend on the number of threads.
struct Panels {
  std::size_t count = 1;
  bool by_rows = true;
  std::int64_t extent = 0;  // rows or columns of each panel but the last
};

// Each further panel of rows packs all of B once more, which costs one thread about 16/m of the
// whole product. Each further panel of columns packs A once more: 30/n. The number of panels is the
// largest whose cost is at most 2 %, rounded down to a power of two, which divides evenly among the
// usual numbers of cores.
//
// Measured with OpenBLAS 0.3.21's AVX2 kernels on one core of a Sapphire Rapids, float32 squares,
// median of alternating pairs against one call: 1.5 % for 1000, 1.0 % for 1500, 1.2 % for 2000, and
// 1 % within the noise of 1 % for 3000 and 4000. With OpenBLAS's AVX-512 kernels, which compute
// faster but don't pack faster, 3 to 7 %.
Panels panels_of(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t rows_per_panel = 800;
  constexpr std::int64_t columns_per_panel = 1500;
  constexpr std::int64_t align = 8;  // a multiple of the inner kernels' block sizes
  const auto count_of = [](std::int64_t length, std::int64_t per_panel) {
    return static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(1 + length / per_panel)));
  };
  const std::int64_t by_rows = count_of(m, rows_per_panel);
  const std::int64_t by_columns = count_of(n, columns_per_panel);

  Panels p;
  p.by_rows = by_rows >= by_columns;
  const std::int64_t length = p.by_rows ? m : n;
  const std::int64_t count = p.by_rows ? by_rows : by_columns;
  p.extent = ((length + count - 1) / count + align - 1) / align * align;
  // Because the extent is rounded up, fewer panels may suffice.
  p.count = static_cast<std::size_t>((length + p.extent - 1) / p.extent);
  return p;
}

// C (m × n, leading extent ldc) = op(A) op(B). beta = 0, so C may be uninitialised.
struct Gemm {
  const Blas& blas;
  CBLAS_TRANSPOSE ta;
  CBLAS_TRANSPOSE tb;
  blasint m;
  blasint n;
  blasint k;
  blasint lda;
  blasint ldb;
  blasint ldc;

  void operator()(const float* a, const float* b, float* c) const {
    blas.sgemm(CblasRowMajor, ta, tb, m, n, k, 1.0F, a, lda, b, ldb, 0.0F, c, ldc);
  }
  void operator()(const double* a, const double* b, double* c) const {
    blas.dgemm(CblasRowMajor, ta, tb, m, n, k, 1.0, a, lda, b, ldb, 0.0, c, ldc);
  }
};

void kernel(const CpuCall& call) {
  const Blas& blas = Blas::instance();
  const Shape& a_shape = call.inputs[0].type.shape;
  const Shape& b_shape = call.inputs[1].type.shape;
  const bool ta = transpose_a(call.attrs);
  const bool tb = transpose_b(call.attrs);
  const Extents e = extents_of(a_shape, b_shape, call.attrs);
  const Panels panels = panels_of(e.m, e.n);

  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const T* const a = call.inputs[0].as<T>();
    const T* const b = call.inputs[1].as<T>();
    T* const c = call.output.as<T>();
    call.team.run(panels.count, [&](std::size_t i) {
      const std::int64_t begin = static_cast<std::int64_t>(i) * panels.extent;
      const std::int64_t end = std::min(begin + panels.extent, panels.by_rows ? e.m : e.n);
      const std::int64_t row = panels.by_rows ? begin : 0;
      const std::int64_t column = panels.by_rows ? 0 : begin;
      const Gemm gemm{.blas = blas,
                      .ta = ta ? CblasTrans : CblasNoTrans,
                      .tb = tb ? CblasTrans : CblasNoTrans,
                      .m = static_cast<blasint>(panels.by_rows ? end - begin : e.m),
                      .n = static_cast<blasint>(panels.by_rows ? e.n : end - begin),
                      .k = static_cast<blasint>(e.k),
                      .lda = static_cast<blasint>(a_shape[1]),
                      .ldb = static_cast<blasint>(b_shape[1]),
                      .ldc = static_cast<blasint>(e.n)};
      gemm(a + (ta ? row : row * a_shape[1]), b + (tb ? column * b_shape[1] : column),
           c + row * e.n + column);
    });
  });
}

}  // namespace

OpKind matmul_op() {
  return {.name = "matmul",
          .summary = "the product of two matrices",
          .inputs_min = 2,
          .inputs_max = 2,
          .attrs = {{.name = "transpose_a", .fallback = false},
                    {.name = "transpose_b", .fallback = false}},
          .type = type,
          .work = work,
          .cpu = kernel,
          .load = [] { Blas::instance(); }};
}

}  // namespace troupe
