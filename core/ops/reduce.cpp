// sum, max and min over an axis, which the output lacks; or keeps, with extent 1.
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

TensorType reduce_type(const OpSignature& op) {
  return {op.inputs[0].dtype, reduced_shape(op)};
}

// Reduces `rows` rows, which are `stride` elements apart, to one row of `columns` elements.
template <class T, class Operation>
void reduce_rows(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, T* out,
                 const Operation& combine) {
  std::fill_n(out, columns, Operation::start);
  for (std::int64_t r = 0; r < rows; ++r, x += stride) {
    for (std::int64_t c = 0; c < columns; ++c) out[c] = combine(out[c], x[c]);
  }
}

constexpr std::int64_t columns_max = 512;    // of a tile
constexpr std::int64_t joined_columns = 64;  // of short rows that are reduced as one

// Reduces a tile: a few rows at a time in T, and their results in Wide.
template <template <class> class Operation, class T, class Wide>
void reduce_tile(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                 Wide* out) {
  const Operation<T> combine;
  const Operation<Wide> combine_wide;
  constexpr std::int64_t lanes = Operation<T>::lanes;
  std::fill_n(out, columns, Wide{Operation<Wide>::start});
  if (stride == 1) {
    for (constexpr std::int64_t few = summed_in_a_row_max * lanes; rows > 0;
         rows -= few, x += few) {
      const T part = reduce_values<lanes>(Operation<T>::start, std::min(rows, few), combine,
                                          [=](std::int64_t k) { return x[k]; });
      *out = combine_wide(*out, Wide{part});
    }
    return;
  }
  // Short rows that lie side by side are reduced as one longer row is.
  const std::int64_t joined_max =
      stride == columns ? std::max<std::int64_t>(1, joined_columns / columns) : 1;
  while (rows > 0) {
    const std::int64_t joined = rows < joined_max ? 1 : joined_max;
    const std::int64_t count = std::min(rows / joined, summed_in_a_row_max);
    std::array<T, columns_max> part;
    reduce_rows(x, count, joined * stride, joined * columns, part.data(), combine);
    for (std::int64_t j = 0; j < joined; ++j) {
      const T* const row = part.data() + j * columns;
      for (std::int64_t c = 0; c < columns; ++c) out[c] = combine_wide(out[c], Wide{row[c]});
    }
    rows -= joined * count;
    x += joined * count * stride;
  }
}

// The rows of a block are cut in tiles: each tile is reduced, then the results of the tiles. Their
// size depends on the shape alone, so that the result doesn't depend on the number of threads.
template <template <class> class Operation, class T>
void reduce_blocks(Team& team, const AxisView& view, const T* x, T* out) {
  using Wide = typename Operation<T>::Wide;
  const std::int64_t columns = std::min(view.inner, columns_max);
  const std::int64_t rows = block_elements / columns;
  const std::int64_t strips = (view.inner + columns - 1) / columns;
  const std::int64_t tiles = (view.extent + rows - 1) / rows;
  std::vector<Wide> partial;  // for each block, `tiles` rows of `inner` elements
  if (tiles > 1) partial.resize(static_cast<std::size_t>(view.outer * tiles * view.inner));

  // `i` counts the tiles of all blocks.
  const auto reduce_one = [&](std::int64_t i, std::int64_t strip) {
    const std::int64_t first_column = strip * columns;
    const std::int64_t width = std::min(columns, view.inner - first_column);
    std::int64_t first_row = i * view.extent;
    std::int64_t height = view.extent;
    if (tiles > 1) {
      const std::int64_t tile_row = i % tiles * rows;
      first_row = i / tiles * view.extent + tile_row;
      height = std::min(rows, view.extent - tile_row);
    }
    const T* const from = x + first_row * view.inner + first_column;
    const std::int64_t to = i * view.inner + first_column;
    std::array<Wide, columns_max> result;
    reduce_tile<Operation>(from, height, view.inner, width, result.data());
    if (tiles > 1) {
      std::copy_n(result.data(), width, partial.data() + to);
    } else {
      std::copy_n(result.data(), width, out + to);
    }
  };
  for_row_blocks(team, view.outer * tiles * strips, columns * std::min(rows, view.extent),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::int64_t tile = begin / strips;
                   std::int64_t strip = begin % strips;
                   for (std::int64_t i = begin; i < end; ++i) {
                     reduce_one(tile, strip);
                     if (++strip < strips) continue;
                     strip = 0;
                     ++tile;
                   }
                 });
  if (tiles == 1) return;
  for_row_blocks(team, view.outer, tiles * view.inner, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o) {
      Wide* const first = partial.data() + o * tiles * view.inner;
      for (std::int64_t t = 1; t < tiles; ++t) {
        for (std::int64_t c = 0; c < view.inner; ++c) {
          first[c] = Operation<Wide>{}(first[c], first[t * view.inner + c]);
        }
      }
      std::copy_n(first, view.inner, out + o * view.inner);
    }
  });
}

// Reduces `blocks` blocks of few elements, at most as many as there are lanes, each in its own
// lane.
template <class Operation, class T, class Count>
[[gnu::always_inline]] inline void reduce_lanes(const AxisView& view, const T* x, T* out,
                                                Count blocks) {
  const std::int64_t block = view.extent * view.inner;
  for (std::int64_t c = 0; c < view.inner; ++c) {
    std::array<T, reduced_lanes> result;
    result.fill(Operation::start);
    for (std::int64_t k = 0; k < view.extent; ++k) {
      const T* const from = x + k * view.inner + c;
      for (std::int64_t j = 0; j < blocks; ++j) result[j] = Operation{}(result[j], from[j * block]);
    }
    for (std::int64_t j = 0; j < blocks; ++j) out[j * view.inner + c] = result[j];
  }
}

template <class Operation, class T>
void reduce_small_blocks(Team& team, const AxisView& view, const T* x, T* out) {
  constexpr std::integral_constant<std::int64_t, reduced_lanes> all_lanes;
  const std::int64_t block = view.extent * view.inner;
  for_row_blocks(team, view.outer, block, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t o = begin;
    for (; o + all_lanes <= end; o += all_lanes) {
      reduce_lanes<Operation>(view, x + o * block, out + o * view.inner, all_lanes);
    }
    reduce_lanes<Operation>(view, x + o * block, out + o * view.inner, end - o);
  });
}

template <template <class> class Operation, class T>
void reduce(Team& team, const AxisView& view, const T* x, T* out) {
  constexpr std::int64_t small_extent = 32;  // at most summed_in_a_row_max
  constexpr std::int64_t small_inner = 8;
  if (view.extent <= small_extent && view.inner <= small_inner) {
    reduce_small_blocks<Operation<T>>(team, view, x, out);
  } else {
    reduce_blocks<Operation>(team, view, x, out);
  }
}

template <template <class> class Operation>
void reduce_kernel(const CpuCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const AxisView view(shape, axis_in(shape, call.attrs));
  with_number(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    reduce<Operation>(call.team, view, call.inputs[0].as<T>(), call.output.as<T>());
  });
}

template <template <class> class Operation>
OpKind reduction(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .inputs = 1,
          .attrs = {axis_attr(), {.name = "keep", .fallback = false}},
          .takes_integers = true,
          .type = reduce_type,
          .work = reduction_work,
          .cpu = reduce_kernel<Operation>};
}

}  // namespace

OpKind sum_op() {
  return reduction<Sum>("sum", "the sum over `axis`, which `keep` keeps with extent 1");
}
OpKind max_op() {
  return reduction<Max>("max", "the maximum over `axis`, which `keep` keeps with extent 1");
}
OpKind min_op() {
  return reduction<Min>("min", "the minimum over `axis`, which `keep` keeps with extent 1");
}

}  // namespace troupe
