// take: elements along an axis, as often and in the order as their numbers say. Inputs: x, and
// integers of any shape, from 0 to before the extent of the axis. In the shape of the output, that
// of the integers takes the place of the axis: rows of a table [words, n] for numbers of words
// [lines, length] are a tensor [lines, length, n].
#include "core/ops/axis.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/failures.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

TensorType take_type(const OpSignature& op) {
  const TensorType& x = op.inputs[0];
  const TensorType& numbers = op.inputs[1];
  if (!is_integer(numbers.dtype)) {
    throw unfit_inputs(op.inputs,
                       "the second must have int32 or int64, the numbers of what to take");
  }
  const std::size_t axis = axis_of(op);
  Integers extents;
  for (std::size_t d = 0; d < axis; ++d) extents.push_back(x.shape[d]);
  for (std::size_t d = 0; d < numbers.shape.rank(); ++d) extents.push_back(numbers.shape[d]);
  for (std::size_t d = axis + 1; d < x.shape.rank(); ++d) extents.push_back(x.shape[d]);
  if (extents.size() > Shape::max_rank) {
    throw unfit_inputs(op.inputs, fmt::format("the result would have {} axes, and may have {}",
                                              extents.size(), Shape::max_rank));
  }
  return {x.dtype, Shape(extents)};
}

// Reads of x only what it copies.
Work take_work(const OpSignature& op, const TensorType& output) {
  return {.bytes =
              2 * static_cast<double>(output.bytes()) + static_cast<double>(op.inputs[1].bytes())};
}

// Throws a run Error for the first number that no element has.
template <class Number>
void check_numbers(const Number* numbers, std::int64_t count, std::int64_t extent) {
  bool are_elements = true;
  for (std::int64_t i = 0; i < count; ++i) are_elements &= is_element(numbers[i], extent);
  if (are_elements) return;
  const auto* const bad = std::find_if_not(
      numbers, numbers + count, [=](Number number) { return is_element(number, extent); });
  throw no_such_element(bad - numbers);
}

template <class T, class Number>
void take_elements(Team& team, const AxisView& view, const T* x, const Number* numbers,
                   std::int64_t count, T* out) {
  for_row_blocks(team, view.outer * count, view.inner, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t outer = begin / count;
    std::int64_t i = begin % count;
    for (std::int64_t row = begin; row < end; ++row) {
      const auto number = static_cast<std::int64_t>(numbers[i]);
      const T* const from = x + (outer * view.extent + number) * view.inner;
      if (view.inner == 1) {
        out[row] = *from;
      } else {
        std::copy_n(from, view.inner, out + row * view.inner);
      }
      if (++i < count) continue;
      i = 0;
      ++outer;
    }
  });
}

void take_kernel(const CpuCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const AxisView view(shape, axis_in(shape, call.attrs));
  const std::int64_t count = call.inputs[1].type.shape.elements();
  with_number(call.inputs[1].type.dtype, [&](auto any_number) {
    using Number = decltype(any_number);
    if constexpr (std::is_integral_v<Number>) {
      const Number* const numbers = call.inputs[1].as<Number>();
      check_numbers(numbers, count, view.extent);
      with_number(call.output.type.dtype, [&](auto element) {
        using T = decltype(element);
        take_elements(call.team, view, call.inputs[0].as<T>(), numbers, count, call.output.as<T>());
      });
    }
  });
}

}  // namespace

OpKind take_op() {
  AttrSpec axis = axis_attr();
  axis.required = false;
  return {.name = "take",
          .summary = "the elements along `axis` whose numbers the second input has",
          .inputs = 2,
          .attrs = {std::move(axis)},
          .takes_integers = true,
          .type = take_type,
          .work = take_work,
          .cpu = take_kernel};
}

}  // namespace troupe
