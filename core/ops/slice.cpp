// slice: the elements from index `begin` to before index `end`, on each axis. Negative indices
// count from the end of the axis, and so does an `end` of 0 behind a negative `begin`: -3 and 0 are
// its last three.
#include "core/ops/builtin.hpp"
#include "core/ops/layout.hpp"

#include <string_view>

#include <fmt/format.h>

namespace troupe {
namespace {

TensorType slice_type(const OpSignature& op) {
  const Shape& x = op.inputs[0].shape;
  const auto& given_begin = op.attrs.get<Integers>("begin");
  const auto& given_end = op.attrs.get<Integers>("end");
  if (given_begin.size() != given_end.size() || given_begin.size() > x.rank()) {
    throw unfit_inputs(op.inputs,
                       "`begin` and `end` must have as many indices, at most one for each axis");
  }
  const Integers begin = slice_begin(op.attrs, x);
  const Integers end = slice_end(op.attrs, x);
  Integers extents;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (begin[d] < 0 || begin[d] >= end[d] || end[d] > x[d]) {
      throw unfit_inputs(op.inputs,
                         fmt::format("on axis {}, where {} to {} are asked for, `begin` must be "
                                     "less than `end`, and both within the extent",
                                     d, given_begin[d], given_end[d]));
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

AttrSpec index_attr(std::string_view name) {
  AttrSpec attr{.name = name, .fallback = Integers{}, .required = true};
  attr.value_min = -attr.value_max;
  return attr;
}

}  // namespace

OpKind slice_op() {
  return {
      .name = "slice",
      .summary = "the elements from `begin` to before `end`, lists of indices for the first axes",
      .inputs = 1,
      .attrs = {index_attr("begin"), index_attr("end")},
      .takes_integers = true,
      .type = slice_type,
      .work = slice_work,
      .cpu = slice_kernel};
}

}  // namespace troupe
