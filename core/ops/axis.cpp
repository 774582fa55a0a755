#include "core/ops/axis.hpp"

#include <fmt/format.h>

namespace troupe {

constexpr auto rank_max = static_cast<std::int64_t>(Shape::max_rank);

AttrSpec axis_attr() {
  return {.name = "axis",
          .fallback = std::int64_t{0},
          .required = true,
          .value_min = -rank_max,
          .value_max = rank_max - 1};
}

AttrSpec axes_attr() {
  return {
      .name = "axes", .fallback = Integers{}, .value_min = -rank_max, .value_max = rank_max - 1};
}

std::size_t axis_of(const OpSignature& op) {
  const std::size_t axis = axis_in(op.inputs[0].shape, op.attrs);
  if (axis < op.inputs[0].shape.rank()) return axis;
  throw unfit_inputs(op.inputs,
                     fmt::format("there is no axis {}", op.attrs.get<std::int64_t>("axis")));
}

Shape reduced_shape(const OpSignature& op) {
  const Shape& x = op.inputs[0].shape;
  const std::size_t axis = axis_of(op);
  Integers extents;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (d != axis) {
      extents.push_back(x[d]);
    } else if (op.attrs.get<bool>("keep") || x.rank() == 1) {
      extents.push_back(1);
    }
  }
  return Shape(extents);
}

Work reduction_work(const OpSignature& op, const TensorType& output) {
  Work work = streaming_work(op, output, 0);
  work.flops = static_cast<double>(op.inputs[0].shape.elements());
  return work;
}

}  // namespace troupe
