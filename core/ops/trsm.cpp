// trsm: solves L X = alpha B, or X L = alpha B with `side: right`, by OpenBLAS. Inputs: L, a lower
// triangular matrix, whose elements above the diagonal aren't read, and B. With `transpose`, L
// transposed takes the place of L. A zero on the diagonal gives infinities or NaNs.
#include "core/ops/blas.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/panels.hpp"
#include "core/ops/product.hpp"
#include "core/ops/triangular.hpp"

namespace troupe {
namespace {

bool is_left(const Attrs& attrs) {
  return attrs.get<std::string>("side") == "left";
}

TensorType trsm_type(const OpSignature& op) {
  const TensorType& l = op.inputs[0];
  const TensorType& b = op.inputs[1];
  if (l.dtype != b.dtype) throw unfit_inputs(op.inputs, "both must have the same element type");
  if (b.shape.rank() != 2) throw unfit_inputs(op.inputs, "the second must be a matrix");
  const std::int64_t n = b.shape[is_left(op.attrs) ? 0 : 1];
  if (l.shape != Shape{n, n}) {
    throw unfit_inputs(op.inputs, "the first must be " + to_string(TensorType{b.dtype, {n, n}}));
  }
  check_blas_extents(op, std::max(b.shape[0], b.shape[1]));
  return b;
}

// n² operations for each of the m columns or rows of B (LAPACK Working Note 41, 1994).
Work trsm_work(const OpSignature& op, const TensorType& output) {
  Work work = streaming_work(op, output, 0);
  work.flops =
      static_cast<double>(op.inputs[0].shape[0]) * static_cast<double>(output.shape.elements());
  return work;
}

// The columns of B, or its rows on the right side, don't depend on each other.
void trsm_kernel(const CpuCall& call) {
  const bool left = is_left(call.attrs);
  const Shape& shape = call.output.type.shape;
  const std::int64_t n = call.inputs[0].type.shape[0];
  const double multiply_adds = static_cast<double>(n) * static_cast<double>(shape.elements()) / 2;
  const Grid grid = cut(
      {.rows = left ? 1 : shape[0], .columns = left ? shape[1] : 1, .multiply_adds = multiply_adds},
      call.team.widest_team());
  const Panels& panels = left ? grid.columns : grid.rows;
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    call.team.run(static_cast<std::size_t>(panels.count), [&](std::size_t i) {
      const std::int64_t begin = panels.begin(static_cast<std::int64_t>(i));
      const std::int64_t length = panels.end(static_cast<std::int64_t>(i)) - begin;
      const std::int64_t rows = left ? n : length;
      const std::int64_t columns = left ? length : n;
      const std::int64_t first = left ? begin : begin * shape[1];
      const T* const b = call.inputs[1].as<T>() + first;
      T* const x = call.output.as<T>() + first;
      for (std::int64_t r = 0; x != b && r < rows; ++r) {
        std::copy_n(b + r * shape[1], columns, x + r * shape[1]);
      }
      const TriangularSystem system{.is_left = left,
                                    .transpose = call.attrs.get<bool>("transpose"),
                                    .rows = static_cast<blasint>(rows),
                                    .columns = static_cast<blasint>(columns),
                                    .l_stride = static_cast<blasint>(n),
                                    .x_stride = static_cast<blasint>(shape[1])};
      solve(system, static_cast<T>(call.attrs.get<double>("alpha")), call.inputs[0].as<T>(), x);
    });
  });
}

}  // namespace

OpKind trsm_op() {
  return {.name = "trsm",
          .summary = "solves L X = alpha B, or X L = alpha B, for lower triangular L",
          .inputs = 2,
          .attrs = {{.name = "side", .fallback = std::string("left"), .choices = {"left", "right"}},
                    {.name = "transpose", .fallback = false},
                    {.name = "alpha", .fallback = 1.0}},
          .in_place_of = 1,
          .type = trsm_type,
          .work = trsm_work,
          .cpu = trsm_kernel,
          .load = [] { Blas::instance(); }};
}

}  // namespace troupe
