#include "core/ops/layout.hpp"

#include "core/ops/axis.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

namespace troupe {
namespace {

// The extent of `shape` on axis d of a tensor of `rank` axes.
std::int64_t aligned_extent(const Shape& shape, std::size_t rank, std::size_t d) {
  const std::size_t missing = rank - shape.rank();
  return d < missing ? 1 : shape[d - missing];
}

// The steps of an input along the axes of the output.
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

TensorType broadcast_type(const OpSignature& op) {
  const char* const all = op.inputs.size() == 2 ? "both" : "all";
  const DType dtype = op.inputs[0].dtype;
  std::size_t rank = 0;
  for (const TensorType& input : op.inputs) {
    rank = std::max(rank, input.shape.rank());
    if (input.dtype == dtype) continue;
    throw unfit_inputs(op.inputs, fmt::format("{} must have the same element type", all));
  }
  std::array<std::int64_t, Shape::max_rank> extents{};
  for (std::size_t d = 0; d < rank; ++d) {
    extents[d] = 1;
    for (const TensorType& input : op.inputs) {
      const std::int64_t extent = aligned_extent(input.shape, rank, d);
      if (extents[d] == 1) extents[d] = extent;
      if (extent == 1 || extent == extents[d]) continue;
      throw unfit_inputs(
          op.inputs,
          fmt::format("{} must have the same shape, or extents of 1 where they differ", all));
    }
  }
  return {dtype, Shape(std::span(extents).first(rank))};
}

StridedBox<3> broadcast_box(const Shape& a, const Shape& b, const Shape& output) {
  return {output, {broadcast_strides(a, output), broadcast_strides(b, output), strides_of(output)}};
}

StridedBox<4> where_box(std::span<const ConstTensorView> inputs, const Shape& output) {
  const auto of = [&](std::size_t k) { return broadcast_strides(inputs[k].type.shape, output); };
  return {output, {of(0), of(1), of(2), strides_of(output)}};
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

Integers slice_begin(const Attrs& attrs, const Shape& x) {
  auto begin = attrs.get<Integers>("begin");
  begin.resize(x.rank(), 0);
  for (std::size_t d = 0; d < x.rank(); ++d) begin[d] += begin[d] < 0 ? x[d] : 0;
  return begin;
}

Integers slice_end(const Attrs& attrs, const Shape& x) {
  const auto& begin = attrs.get<Integers>("begin");
  auto end = attrs.get<Integers>("end");
  const std::size_t given = end.size();
  end.resize(x.rank(), 0);
  for (std::size_t d = 0; d < x.rank(); ++d) {
    const bool is_to_the_end = end[d] == 0 && (d >= given || begin[d] < 0);
    if (end[d] < 0 || is_to_the_end) end[d] += x[d];
  }
  return end;
}

PartBox slice_box(const Attrs& attrs, const Shape& x, const Shape& output) {
  const Strides strides = strides_of(x);
  const Integers begin = slice_begin(attrs, x);
  std::int64_t first = 0;
  for (std::size_t d = 0; d < begin.size(); ++d) first += begin[d] * strides[d];
  return {first, {output, {strides, strides_of(output)}}};
}

PartBox concat_box(const Shape& input, const Shape& output, std::size_t axis, std::int64_t before) {
  const Strides strides = strides_of(output);
  return {before * strides[axis], {input, {strides_of(input), strides}}};
}

}  // namespace troupe
