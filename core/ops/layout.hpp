// How the tensors of ops that read or write values elsewhere lie in memory, as the box that their
// kernels go over.
#pragma once

#include "core/ops/strided.hpp"

#include <span>

namespace troupe {

// The shape rule of ops with broadcasting: aligned at the last axis, the extents of all inputs are
// equal, or some are 1 or missing. Throws a usage Error without a place if they aren't, or if the
// element types differ.
TensorType broadcast_type(const OpSignature& op);
// Of a ∘ b with broadcasting. The operands are a, b and the output.
StridedBox<3> broadcast_box(const Shape& a, const Shape& b, const Shape& output);
// Of where. The operands are its three inputs and the output.
StridedBox<4> where_box(std::span<const ConstTensorView> inputs, const Shape& output);

// Of transpose: `axes` of the attributes, counted from the start, or all in reverse if it is empty.
Integers transposed_axes(const Attrs& attrs, const Shape& x);
// The operands are the input and the output.
StridedBox<2> transpose_box(const Attrs& attrs, const Shape& x, const Shape& output);

// A part of a tensor, and a whole one. The operands are the input and the output.
struct PartBox {
  std::int64_t first = 0;  // the index of the part's first element in the tensor that has more
  StridedBox<2> box;
};
// Of slice: the index on each axis where it begins and ends, counted from the start. Axes for which
// the attributes have no index are whole. They may have no more indices than x has axes.
Integers slice_begin(const Attrs& attrs, const Shape& x);
Integers slice_end(const Attrs& attrs, const Shape& x);
PartBox slice_box(const Attrs& attrs, const Shape& x, const Shape& output);
// `before`: how many elements of the output's axis belong to the inputs before this one.
PartBox concat_box(const Shape& input, const Shape& output, std::size_t axis, std::int64_t before);

}  // namespace troupe
