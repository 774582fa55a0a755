// matmul: C = op(A) op(B) by OpenBLAS, where op(X) is X, or X transposed if the attributes say so.
// With more than two axes, a product for each index of the leading axes, which must be equal,
// unless one factor is a single matrix. A vector is a row before a matrix, and a column behind
// one, and the result lacks that axis.
#include "core/ops/blas.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/product.hpp"

#include <array>
#include <span>

namespace troupe {
namespace {

TensorType matmul_type(const OpSignature& op) {
  const Product product = product_of(op);
  const Shape& a = op.inputs[0].shape;
  const Shape& b = op.inputs[1].shape;
  const std::size_t leading = leading_axes(a);
  const std::span<const std::int64_t> batch =
      leading > 0 ? a.extents().first(leading) : b.extents().first(leading_axes(b));
  Integers extents(batch.begin(), batch.end());
  if (a.rank() > 1) extents.push_back(a[leading + (product.transpose_a ? 1 : 0)]);
  if (b.rank() > 1) extents.push_back(product.n);
  return {op.inputs[0].dtype, Shape(extents)};
}

// Bytes are the minimum: each matrix is read or written once.
Work matmul_work(const OpSignature& op, const TensorType& output) {
  const Product product = product_of(op);
  Work work = streaming_work(op, output, 0);
  work.flops = static_cast<double>(product.batch) * product.flops();
  return work;
}

void matmul_kernel(const CpuCall& call) {
  const std::array inputs = {call.inputs[0].type, call.inputs[1].type};
  const Product product = product_of({.inputs = inputs, .attrs = call.attrs, .declared = {}});
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    multiply<T>(call.team, product, call.inputs[0].as<T>(), call.inputs[1].as<T>(), nullptr,
                call.output.as<T>());
  });
}

}  // namespace

OpKind matmul_op() {
  return {.name = "matmul",
          .summary = "the product of two matrices, of each pair of a batch, or of vectors",
          .inputs = 2,
          .attrs = product_attrs(),
          .type = matmul_type,
          .work = matmul_work,
          .cpu = matmul_kernel,
          .load = [] { Blas::instance(); }};
}

}  // namespace troupe
