// transpose: the axes in another order. Axis d of the output is axis axes[d] of the input.
#include "core/ops/axis.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/layout.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace troupe {
namespace {

TensorType transpose_type(const OpSignature& op) {
  const TensorType& x = op.inputs[0];
  const Integers axes = transposed_axes(op.attrs, x.shape);
  Integers sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  Integers every(x.shape.rank());
  std::iota(every.begin(), every.end(), 0);
  if (sorted != every) {
    throw unfit_inputs(op.inputs, "`axes` must name each of its axes once");
  }
  Integers extents;
  for (const std::int64_t axis : axes) extents.push_back(x.shape[static_cast<std::size_t>(axis)]);
  return {x.dtype, Shape(extents)};
}

// A tensor with no more rows or columns than this is copied row by row: the nearest cache holds a
// line of each, even where they are a power of two apart.
constexpr std::int64_t narrow = 16;

// Copies squares of `tile` by `tile` elements, whose rows in the output are columns in the input,
// by way of the stack: there, unlike in tensors whose rows are a power of two apart, the lines of a
// square don't compete for the same places in the cache.
template <class T>
void copy_tiles(Team& team, const StridedBox<2>& box, std::size_t across, const T* from, T* to) {
  constexpr std::int64_t tile = 64;
  const std::size_t last = box.rank() - 1;
  const auto tiles = [&](std::size_t d) {
    return d == last || d == across ? (box.extent(d) + tile - 1) / tile : box.extent(d);
  };
  std::int64_t count = 1;
  for (std::size_t d = 0; d <= last; ++d) count *= tiles(d);
  const auto copy_tile = [&](std::int64_t i) {
    const T* in = from;
    T* out = to;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    for (std::size_t d = last + 1; d-- > 0; i /= tiles(d)) {
      const std::int64_t step = d == last || d == across ? tile : 1;
      const std::int64_t first = i % tiles(d) * step;
      in += first * box.stride(0, d);
      out += first * box.stride(1, d);
      if (d == last) columns = std::min(tile, box.extent(d) - first);
      if (d == across) rows = std::min(tile, box.extent(d) - first);
    }
    std::array<T, tile * tile> square;
    for (std::int64_t c = 0; c < columns; ++c) {
      std::copy_n(in + c * box.stride(0, last), rows, square.data() + c * tile);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      T* const row = out + r * box.stride(1, across);
      for (std::int64_t c = 0; c < columns; ++c) row[c] = square[c * tile + r];
    }
  };
  for_row_blocks(team, count, tile * tile, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) copy_tile(i);
  });
}

void transpose_kernel(const CpuCall& call) {
  const TensorType& x = call.inputs[0].type;
  const StridedBox<2> box = transpose_box(call.attrs, x.shape, call.output.type.shape);
  with_number(x.dtype, [&](auto element) {
    using T = decltype(element);
    const T* const from = call.inputs[0].as<T>();
    T* const to = call.output.as<T>();
    std::size_t across = 0;  // the axis along which neighbours lie side by side in the input
    while (across + 1 < box.rank() && box.stride(0, across) != 1) ++across;
    if (box.step(0) != 1 && std::min(box.length(), box.extent(across)) > narrow) {
      copy_tiles(call.team, box, across, from, to);
    } else {
      copy_box(call.team, box, from, to);
    }
  });
}

}  // namespace

OpKind transpose_op() {
  return {.name = "transpose",
          .summary = "the axes in the order `axes`, or all in reverse",
          .inputs = 1,
          .attrs = {axes_attr()},
          .takes_integers = true,
          .type = transpose_type,
          .work = streaming<0>,
          .cpu = transpose_kernel};
}

}  // namespace troupe
