// concat: the inputs one after the other along an axis.
#include "core/ops/axis.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/layout.hpp"

#include <algorithm>
#include <utility>

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

// Copies rows to where they begin `apart` elements apart. Short ones go column by column.
template <class T>
void spread_rows(const T* from, std::int64_t rows, std::int64_t length, T* to, std::int64_t apart) {
  StridedRows<2> along{.step = {1, 1}, .row_step = {length, apart}, .length = length, .rows = rows};
  if (length < row_length_min) {
    std::swap(along.step, along.row_step);
    std::swap(along.length, along.rows);
  }
  copy_rows(along, from, to);
}

// Some rows of each input in turn, since what they become in the output lies together.
template <class T>
void concat_rows(const CpuCall& call, std::int64_t rows, std::int64_t width) {
  const std::int64_t few = std::max(std::int64_t{16}, cached_elements / width);
  for_row_blocks(call.team, rows, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; row += few) {
      T* to = call.output.as<T>() + row * width;
      for (const ConstTensorView& input : call.inputs) {
        const std::int64_t length = input.type.shape.elements() / rows;
        spread_rows(input.as<T>() + row * length, std::min(few, end - row), length, to, width);
        to += length;
      }
    }
  });
}

void concat_kernel(const CpuCall& call) {
  const Shape& shape = call.output.type.shape;
  const std::size_t axis = axis_in(shape, call.attrs);
  const AxisView view(shape, axis);
  const std::int64_t width = view.extent * view.inner;
  with_number(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    if (width <= block_elements) return concat_rows<T>(call, view.outer, width);
    std::int64_t before = 0;
    for (const ConstTensorView& input : call.inputs) {
      const PartBox part = concat_box(input.type.shape, shape, axis, before);
      copy_box(call.team, part.box, input.as<T>(), call.output.as<T>() + part.first);
      before += input.type.shape[axis];
    }
  });
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
