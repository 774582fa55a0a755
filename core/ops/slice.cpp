// slice: the elements from index `begin` to before index `end`, on each axis.
#include "core/ops/builtin.hpp"
#include "core/ops/layout.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

TensorType slice_type(const OpSignature& op) {
  const Shape& x = op.inputs[0].shape;
  const auto& begin = op.attrs.get<Integers>("begin");
  const auto& end = op.attrs.get<Integers>("end");
  if (begin.size() != x.rank() || end.size() != x.rank()) {
    throw unfit_inputs(op.inputs, "`begin` and `end` must have an index for each axis");
  }
  Integers extents;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (begin[d] >= end[d] || end[d] > x[d]) {
      throw unfit_inputs(op.inputs,
                         fmt::format("on axis {}, where {} to {} are asked for, `begin` must be "
                                     "less than `end`, and `end` at most the extent",
                                     d, begin[d], end[d]));
    }
    extents.push_back(end[d] - begin[d]);
  }
  return {op.inputs[0].dtype, Shape(extents)};
}

// Reads only what it copies.
Work slice_work(const OpSignature&, const TensorType& output) {
  return {.bytes = 2 * static_cast<double>(output.bytes())};
}

void slice_kernel(const CpuCall& call) {
  const ConstTensorView& x = call.inputs[0];
  const TensorView& out = call.output;
  const PartBox part = slice_box(call.attrs, x.type.shape, out.type.shape);
  with_number(out.type.dtype, [&](auto element) {
    using T = decltype(element);
    copy_box(call.team, part.box, x.as<T>() + part.first, out.as<T>());
  });
}

}  // namespace

OpKind slice_op() {
  return {.name = "slice",
          .summary = "the elements from `begin` to before `end`, lists of an index for each axis",
          .inputs = 1,
          .attrs = {{.name = "begin", .fallback = Integers{}, .required = true},
                    {.name = "end", .fallback = Integers{}, .required = true}},
          .takes_integers = true,
          .type = slice_type,
          .work = slice_work,
          .cpu = slice_kernel};
}

}  // namespace troupe
