// concat: the inputs one after the other along an axis.
#include "core/ops/axis.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/layout.hpp"

namespace troupe {
namespace {

TensorType concat_type(const OpSignature& op) {
  const TensorType& first = op.inputs[0];
  const std::size_t axis = axis_of(op);
  Integers extents;
  for (std::size_t d = 0; d < first.shape.rank(); ++d) extents.push_back(first.shape[d]);
  extents[axis] = 0;
  for (const TensorType& input : op.inputs) {
    bool fits = input.dtype == first.dtype && input.shape.rank() == first.shape.rank();
    for (std::size_t d = 0; fits && d < extents.size(); ++d) {
      fits = d == axis || input.shape[d] == first.shape[d];
    }
    if (!fits) {
      throw unfit_inputs(std::array{first, input},
                         "they must have the same type and the same extents on all other axes");
    }
    extents[axis] += input.shape[axis];
  }
  return {first.dtype, Shape(extents)};
}

void concat_kernel(const CpuCall& call) {
  const TensorView& out = call.output;
  const std::size_t axis = axis_in(out.type.shape, call.attrs);
  std::int64_t before = 0;
  for (const ConstTensorView& input : call.inputs) {
    const PartBox part = concat_box(input.type.shape, out.type.shape, axis, before);
    with_number(out.type.dtype, [&](auto element) {
      using T = decltype(element);
      for_rows(call.team, part.box, [&](const auto& offsets, std::int64_t length) {
        copy_row(input.as<T>() + offsets[0], part.box.step(0),
                 out.as<T>() + part.first + offsets[1], part.box.step(1), length);
      });
    });
    before += input.type.shape[axis];
  }
}

}  // namespace

OpKind concat_op() {
  return {.name = "concat",
          .summary = "the inputs one after the other along `axis`",
          .inputs = {1, 1024},
          .attrs = {axis_attr()},
          .takes_integers = true,
          .type = concat_type,
          .work = streaming<0>,
          .cpu = concat_kernel};
}

}  // namespace troupe
