// take: elements along an axis, as often and in the order as their numbers say. Inputs: x, and
// integers of any shape, from 0 to before the extent of the axis. In the shape of the output, that
// of the integers takes the place of the axis: rows of a table [words, n] for numbers of words
// [lines, length] are a tensor [lines, length, n].
//
// index_add: x, and at the elements along an axis whose numbers are in the second input, what the
// third has for them is added. The gradient of take by x is the index_add of zeros, the numbers and
// the gradient by the output.
#include "core/base/error.hpp"
#include "core/ops/axis.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/element_numbers.hpp"
#include "core/ops/elementwise.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Of take; and of the third input of index_add.
TensorType taken_type(const OpSignature& op) {
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

TensorType index_add_type(const OpSignature& op) {
  const TensorType wanted = taken_type(op);
  if (op.inputs[2] != wanted) {
    throw unfit_inputs(op.inputs, fmt::format("the third must be {}: what the first has there",
                                              to_string(wanted)));
  }
  return op.inputs[0];
}

// Reads of x only what it copies.
Work take_work(const OpSignature& op, const TensorType& output) {
  return {.bytes =
              2 * static_cast<double>(output.bytes()) + static_cast<double>(op.inputs[1].bytes())};
}

// In place of x, of which only those elements are read and written. (If x is still needed, all of
// it is copied first: a simulation doesn't know.)
Work index_add_work(const OpSignature& op, const TensorType&) {
  const TensorType& added = op.inputs[2];
  return {
      .flops = static_cast<double>(added.shape.elements()),
      .bytes = 3 * static_cast<double>(added.bytes()) + static_cast<double>(op.inputs[1].bytes())};
}

// Throws a run Error for the first number that no element has.
template <class Number>
void check_numbers(const Number* numbers, std::int64_t count, std::int64_t extent) {
  bool are_elements = true;
  for (std::int64_t i = 0; i < count; ++i) are_elements &= is_element(numbers[i], extent);
  if (are_elements) return;
  const auto* const bad = std::find_if_not(
      numbers, numbers + count, [=](Number number) { return is_element(number, extent); });
  throw run_error(
      fmt::format("the element number at place {} is {}", bad - numbers, value_of(*bad)),
      fmt::format("those along the axis are from 0 to {}", extent - 1));
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

// Calls f(view of x, numbers, their count) for checked numbers.
template <class F>
void with_numbers(const CpuCall& call, const F& f) {
  with_element_numbers(call, [&](const AxisView& view, const auto* numbers, std::int64_t count) {
    check_numbers(numbers, count, view.extent);
    f(view, numbers, count);
  });
}

void take_kernel(const CpuCall& call) {
  with_numbers(call, [&](const AxisView& view, const auto* numbers, std::int64_t count) {
    with_number(call.output.type.dtype, [&](auto element) {
      using T = decltype(element);
      take_elements(call.team, view, call.inputs[0].as<T>(), numbers, count, call.output.as<T>());
    });
  });
}

// A thread has some of the columns of all rows, and adds to each what belongs there, in its order.
// So the number of threads makes no difference to the sums.
template <class T, class Number>
void add_elements(Team& team, const AxisView& view, const Number* numbers, std::int64_t count,
                  const T* added, T* out) {
  constexpr std::int64_t columns_min = 64 / sizeof(T);  // of a cache line
  const auto threads = static_cast<std::int64_t>(team.size());
  const std::int64_t shares = std::max<std::int64_t>(threads / view.outer, 1);
  const std::int64_t width =
      std::min(std::max((view.inner + shares - 1) / shares, columns_min), view.inner);
  const std::int64_t parts = (view.inner + width - 1) / width;
  const auto add_part = [&](std::int64_t part) {
    const std::int64_t first = part % parts * width;
    const std::int64_t columns = std::min(width, view.inner - first);
    const T* from = added + part / parts * count * view.inner + first;
    T* const block = out + part / parts * view.extent * view.inner + first;
    for (std::int64_t i = 0; i < count; ++i, from += view.inner) {
      T* const to = block + static_cast<std::int64_t>(numbers[i]) * view.inner;
      for (std::int64_t c = 0; c < columns; ++c) to[c] += from[c];
    }
  };
  for_row_blocks(team, view.outer * parts, count * width,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t part = begin; part < end; ++part) add_part(part);
                 });
}

void index_add_kernel(const CpuCall& call) {
  with_numbers(call, [&](const AxisView& view, const auto* numbers, std::int64_t count) {
    with_number(call.output.type.dtype, [&](auto element) {
      using T = decltype(element);
      const T* const x = call.inputs[0].as<T>();
      T* const out = call.output.as<T>();
      if (x != out) {
        for_blocks(call.team, call.output.type.shape.elements(),
                   [=](std::int64_t begin, std::int64_t end) {
                     std::copy(x + begin, x + end, out + begin);
                   });
      }
      add_elements(call.team, view, numbers, count, call.inputs[2].as<T>(), out);
    });
  });
}

AttrSpec optional_axis() {
  AttrSpec axis = axis_attr();
  axis.required = false;
  return axis;
}

}  // namespace

OpKind take_op() {
  return {.name = "take",
          .summary = "the elements along `axis` whose numbers the second input has",
          .inputs = 2,
          .attrs = {optional_axis()},
          .takes_integers = true,
          .type = taken_type,
          .work = take_work,
          .cpu = take_kernel};
}

OpKind index_add_op() {
  return {.name = "index_add",
          .summary =
              "x, with the third input added to the elements along `axis` whose numbers the "
              "second has",
          .inputs = 3,
          .attrs = {optional_axis()},
          .takes_integers = true,
          .in_place_of = 0,
          .type = index_add_type,
          .work = index_add_work,
          .cpu = index_add_kernel};
}

}  // namespace troupe
