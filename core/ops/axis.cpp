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

}  // namespace troupe
