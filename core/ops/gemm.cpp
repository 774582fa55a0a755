// gemm: alpha op(A) op(B) + beta C by OpenBLAS, for inputs A, B and C, where op(X) is X, or X
// transposed if the attributes say so.
#include "core/ops/blas.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/product.hpp"

namespace troupe {
namespace {

TensorType gemm_type(const OpSignature& op) {
  for (const TensorType& factor : op.inputs.first(2)) {
    if (factor.shape.rank() != 2) throw unfit_inputs(op.inputs, "they must be matrices");
  }
  const Product product = scaled_product_of(op);
  const TensorType c{op.inputs[0].dtype, Shape{product.m, product.n}};
  if (op.inputs[2] != c) throw unfit_inputs(op.inputs, "the third must be " + to_string(c));
  return c;
}

// 2mnk for the product, as everywhere, and a multiplication and an addition per element for C.
Work gemm_work(const OpSignature& op, const TensorType& output) {
  Work work = streaming_work(op, output, 2);
  work.flops += scaled_product_of(op).flops();
  return work;
}

void gemm_kernel(const CpuCall& call) {
  const std::array inputs = {call.inputs[0].type, call.inputs[1].type, call.inputs[2].type};
  const Product product =
      scaled_product_of({.inputs = inputs, .attrs = call.attrs, .declared = {}});
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    multiply<T>(call.team, product, call.inputs[0].as<T>(), call.inputs[1].as<T>(),
                product.beta == 0 ? nullptr : call.inputs[2].as<T>(), call.output.as<T>());
  });
}

std::vector<AttrSpec> attrs() {
  std::vector<AttrSpec> attrs = product_attrs();
  attrs.push_back({.name = "alpha", .fallback = 1.0});
  attrs.push_back({.name = "beta", .fallback = 1.0});
  return attrs;
}

}  // namespace

OpKind gemm_op() {
  return {.name = "gemm",
          .summary = "alpha A B + beta C, for matrices A, B and C",
          .inputs = 3,
          .attrs = attrs(),
          .in_place_of = 2,
          .type = gemm_type,
          .work = gemm_work,
          .cpu = gemm_kernel,
          .load = [] { Blas::instance(); }};
}

}  // namespace troupe
