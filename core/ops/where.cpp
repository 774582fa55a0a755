// where: a where the condition isn't 0, else b, element by element, with broadcasting as add has.
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/layout.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

constexpr std::int64_t piece = 256;  // of a row

// Elements that lie apart, or one for all, side by side in `room`; else where they are.
template <class T>
const T* side_by_side(const T* from, std::int64_t step, std::int64_t count,
                      std::array<T, piece>& room) {
  if (step == 1) return from;
  if (step == 0) {
    std::fill_n(room.begin(), count, *from);
  } else {
    copy_row(from, step, room.data(), std::int64_t{1}, count);
  }
  return room.data();
}

// By way of the stack, also where nothing lies apart: the loop can be vectorised, since it doesn't
// write to what may be an input.
template <class T>
void choose_row(const StridedRows<4>& rows, std::array<const T*, 3> in, T* out) {
  std::array<std::array<T, piece>, 3> rooms;
  std::array<T, piece> chosen;
  for (std::int64_t first = 0; first < rows.length; first += piece) {
    const std::int64_t count = std::min(piece, rows.length - first);
    std::array<const T*, 3> x;
    for (std::size_t k = 0; k < 3; ++k) {
      x[k] = side_by_side(in[k] + first * rows.step[k], rows.step[k], count, rooms[k]);
    }
    for (std::int64_t i = 0; i < count; ++i) chosen[i] = Where{}(x[0][i], x[1][i], x[2][i]);
    copy_row(chosen.data(), std::int64_t{1}, out + first * rows.step[3], rows.step[3], count);
  }
}

void where_kernel(const CpuCall& call) {
  const auto& in = call.inputs;
  with_number(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    if (in[0].type == in[1].type && in[1].type == in[2].type) {
      return for_each_of_type<T, 3>(call, Where{});
    }
    const StridedBox<4> box = where_box(in, call.output.type.shape);
    for_rows(call.team, box, [&](const StridedRows<4>& rows) {
      std::array<const T*, 3> from;
      for (std::size_t k = 0; k < 3; ++k) from[k] = in[k].template as<T>() + rows.first[k];
      T* out = call.output.as<T>() + rows.first[3];
      for (std::int64_t r = 0; r < rows.rows; ++r, out += rows.row_step[3]) {
        choose_row(rows, from, out);
        for (std::size_t k = 0; k < 3; ++k) from[k] += rows.row_step[k];
      }
    });
  });
}

}  // namespace

OpKind where_op() {
  return {.name = "where",
          .summary = "a where the condition isn't 0, else b, of condition, a and b",
          .inputs = 3,
          .takes_integers = true,
          .in_place_of = 1,
          .type = broadcast_type,
          .cpu = where_kernel};
}

}  // namespace troupe
