// The attribute `axis` of ops that work along one axis.
#pragma once

#include "core/ops/op_kind.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe {

AttrSpec axis_attr();
AttrSpec axes_attr();  // a list, {} by default

// Negative numbers of axes count from the end.
inline std::int64_t axis_from_start(std::int64_t axis, const Shape& shape) {
  return axis < 0 ? axis + static_cast<std::int64_t>(shape.rank()) : axis;
}

// The axis of `shape` that `axis` means. There must be one.
inline std::size_t axis_in(const Shape& shape, const Attrs& attrs) {
  return static_cast<std::size_t>(axis_from_start(attrs.get<std::int64_t>("axis"), shape));
}

// The same for the first input. Throws a usage Error without a place if there is no such axis.
std::size_t axis_of(const OpSignature& op);

// The shape rule of ops that combine the elements along `axis`: the shape without it; or with
// extent 1 there if `keep` is true, or if there is no other axis. Throws as axis_of().
Shape reduced_shape(const OpSignature& op);
// Their cost: an operation for each element that is read.
Work reduction_work(const OpSignature& op, const TensorType& output);

// A tensor as `outer` blocks of `extent` rows of `inner` elements.
struct AxisView {
  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;

  AxisView(const Shape& shape, std::size_t axis) : extent(shape[axis]) {
    for (std::size_t d = 0; d < axis; ++d) outer *= shape[d];
    for (std::size_t d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  }
};

}  // namespace troupe
