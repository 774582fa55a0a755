#include "core/ops/layout.hpp"

#include "core/ops/axis.hpp"

#include <numeric>

namespace troupe {
namespace {

Strides broadcast_strides(const Shape& shape, const Shape& output) {
  const Strides own = strides_of(shape);
  Strides strides{};
  const std::size_t missing = output.rank() - shape.rank();
  for (std::size_t d = missing; d < output.rank(); ++d) {
    strides[d] = shape[d - missing] == 1 ? 0 : own[d - missing];
  }
  return strides;
}

}  // namespace

StridedBox<3> broadcast_box(const Shape& a, const Shape& b, const Shape& output) {
  return {output, {broadcast_strides(a, output), broadcast_strides(b, output), strides_of(output)}};
}

Integers transposed_axes(const Attrs& attrs, const Shape& x) {
  Integers axes = attrs.get<Integers>("axes");
  if (axes.empty()) {
    axes.resize(x.rank());
    std::iota(axes.rbegin(), axes.rend(), 0);
  }
  for (std::int64_t& axis : axes) axis = axis_from_start(axis, x);
  return axes;
}

StridedBox<2> transpose_box(const Attrs& attrs, const Shape& x, const Shape& output) {
  const Integers axes = transposed_axes(attrs, x);
  const Strides own = strides_of(x);
  Strides strides{};
  for (std::size_t d = 0; d < axes.size(); ++d) strides[d] = own[static_cast<std::size_t>(axes[d])];
  return {output, {strides, strides_of(output)}};
}

PartBox slice_box(const Attrs& attrs, const Shape& x, const Shape& output) {
  const Strides strides = strides_of(x);
  const auto& begin = attrs.get<Integers>("begin");
  std::int64_t first = 0;
  for (std::size_t d = 0; d < begin.size(); ++d) first += begin[d] * strides[d];
  return {first, {output, {strides, strides_of(output)}}};
}

PartBox concat_box(const Shape& input, const Shape& output, std::size_t axis, std::int64_t before) {
  const Strides strides = strides_of(output);
  return {before * strides[axis], {input, {strides_of(input), strides}}};
}

}  // namespace troupe
