// argmax and argmin: the places of the largest and the smallest elements along an axis, as int64,
// counted from 0. Of equal elements the first; of NaNs, which are larger and smaller than all
// others, the first. The output lacks the axis, or keeps it with extent 1.
#include "core/ops/axis.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/reduction.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace troupe {
namespace {

TensorType places_type(const OpSignature& op) {
  return {DType::i64, reduced_shape(op)};
}

constexpr std::int64_t columns_at_once = 512;

// Elements side by side, and their places among the rows looked at, in integers as wide as they
// are: so loops over both can be vectorised.
template <class T>
struct Found {
  using Place = std::conditional_t<sizeof(T) == sizeof(std::int32_t), std::int32_t, std::int64_t>;
  std::array<T, columns_at_once> values;
  std::array<Place, columns_at_once> places;
};

// In each of `columns` columns of `rows` elements. The steps are those from one element to the
// next.
template <template <class> class Extreme, class T>
void find_in_columns(const T* x, std::int64_t rows, std::int64_t row_step, std::int64_t columns,
                     std::int64_t column_step, Found<T>& found) {
  using Place = typename Found<T>::Place;
  for (std::int64_t c = 0; c < columns; ++c) {
    found.values[c] = x[c * column_step];
    found.places[c] = 0;
  }
  for (Place r = 1; r < static_cast<Place>(rows); ++r) {
    x += row_step;
    for (std::int64_t c = 0; c < columns; ++c) {
      const T before = found.values[c];
      const T kept = Extreme<T>{}(before, x[c * column_step]);
      const Place place = kept != before ? r : found.places[c];
      found.places[c] = before == before ? place : found.places[c];  // a NaN stays
      found.values[c] = kept;
    }
  }
}

// In a row of neighbours: the extreme first, which can be vectorised, and then where it is.
template <template <class> class Extreme, class T>
Placed<T> find_in_row(const T* x, std::int64_t first, std::int64_t count) {
  const T value = reduce_values<Extreme<T>::lanes>(Extreme<T>::start, count, Extreme<T>{},
                                                   [=](std::int64_t i) { return x[i]; });
  std::int64_t i = 0;
  while (x[i] != value && (value == value || x[i] == x[i])) ++i;
  return {x[i], first + i};
}

// In many short rows, which are the columns of a matrix that lies the other way round.
template <template <class> class Extreme, class T>
void find_in_short_rows(Team& team, const AxisView& view, const T* x, std::int64_t* out) {
  for_row_blocks(team, view.outer, view.extent, [&](std::int64_t begin, std::int64_t end) {
    Found<T> found;
    for (std::int64_t o = begin; o < end; o += columns_at_once) {
      const std::int64_t count = std::min(columns_at_once, end - o);
      find_in_columns<Extreme>(x + o * view.extent, view.extent, 1, count, view.extent, found);
      std::copy_n(found.places.data(), count, out + o);
    }
  });
}

// Long axes are cut into tiles, as those of sum are. The work of a block of the tensor, or of one
// of its tiles, goes to `found`, column by column.
template <template <class> class Extreme, class T, class F>
void find_in_tiles(Team& team, const AxisView& view, std::int64_t rows, const T* x,
                   const F& found) {
  const std::int64_t tiles = (view.extent + rows - 1) / rows;
  for_row_blocks(
      team, view.outer * tiles, std::min(rows, view.extent) * view.inner,
      [&](std::int64_t begin, std::int64_t end) {
        Found<T> here;
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t first = i % tiles * rows;
          const std::int64_t count = std::min(rows, view.extent - first);
          const T* const from = x + (i / tiles * view.extent + first) * view.inner;
          if (view.inner == 1) {
            found(i, find_in_row<Extreme>(from, first, count));
            continue;
          }
          for (std::int64_t c = 0; c < view.inner; c += columns_at_once) {
            const std::int64_t columns = std::min(columns_at_once, view.inner - c);
            find_in_columns<Extreme>(from + c, count, view.inner, columns, 1, here);
            for (std::int64_t k = 0; k < columns; ++k) {
              found(i * view.inner + c + k, Placed<T>{here.values[k], first + here.places[k]});
            }
          }
        }
      });
}

template <template <class> class Extreme, class T>
void find_places(Team& team, const AxisView& view, const T* x, std::int64_t* out) {
  constexpr std::int64_t short_extent = 32;
  if (view.inner == 1 && view.extent <= short_extent) {
    return find_in_short_rows<Extreme>(team, view, x, out);
  }
  const std::int64_t rows = block_elements / std::min(view.inner, columns_at_once);
  const std::int64_t tiles = (view.extent + rows - 1) / rows;
  if (tiles == 1) {
    return find_in_tiles<Extreme>(team, view, rows, x,
                                  [=](std::int64_t i, Placed<T> found) { out[i] = found.place; });
  }
  // For each block, `tiles` rows of `inner`.
  std::vector<Placed<T>> partial(static_cast<std::size_t>(view.outer * tiles * view.inner));
  find_in_tiles<Extreme>(team, view, rows, x, [&](std::int64_t i, Placed<T> found) {
    partial[static_cast<std::size_t>(i)] = found;
  });
  for_row_blocks(team, view.outer, tiles * view.inner, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      for (std::int64_t c = 0; c < view.inner; ++c) {
        const Placed<T>* const column = partial.data() + o * tiles * view.inner + c;
        Placed<T> found = *column;
        for (std::int64_t t = 1; t < tiles; ++t) {
          found = FirstOf<Extreme, T>{}(found, column[t * view.inner]);
        }
        out[o * view.inner + c] = found.place;
      }
    }
  });
}

template <template <class> class Extreme>
void places_kernel(const CpuCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const AxisView view(shape, axis_in(shape, call.attrs));
  with_number(call.inputs[0].type.dtype, [&](auto element) {
    using T = decltype(element);
    find_places<Extreme>(call.team, view, call.inputs[0].as<T>(), call.output.as<std::int64_t>());
  });
}

template <template <class> class Extreme>
OpKind places(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .inputs = 1,
          .attrs = {axis_attr(), {.name = "keep", .fallback = false}},
          .takes_integers = true,
          .type = places_type,
          .work = reduction_work,
          .cpu = places_kernel<Extreme>};
}

}  // namespace

OpKind argmax_op() {
  return places<Max>("argmax", "where the maximum over `axis` is, from 0, as int64");
}
OpKind argmin_op() {
  return places<Min>("argmin", "where the minimum over `axis` is, from 0, as int64");
}

}  // namespace troupe
