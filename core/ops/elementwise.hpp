// Loops for ops that compute each output element independently.
#pragma once

#include "core/base/assert.hpp"
#include "core/ops/op_kind.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace troupe {

// Calls f(float{}) or f(double{}), as `dtype` says. For kinds without takes_integers.
template <class F>
void with_element(DType dtype, const F& f) {
  TROUPE_ASSERT(!is_integer(dtype));
  if (dtype == DType::f32) {
    f(float{});
  } else {
    f(double{});
  }
}

// Like with_element(), for kinds with takes_integers. Integers are unsigned here: sums, differences
// and products then have the bits of signed ones, and are defined where they overflow. value_of()
// (element_functions.hpp) has the sign.
template <class F>
void with_number(DType dtype, const F& f) {
  if (dtype == DType::i32) {
    f(std::uint32_t{});
  } else if (dtype == DType::i64) {
    f(std::uint64_t{});
  } else {
    with_element(dtype, f);
  }
}

// with_number() for kinds with takes_integers, else with_element().
template <bool takes_integers, class F>
void with_type(DType dtype, const F& f) {
  if constexpr (takes_integers) {
    with_number(dtype, f);
  } else {
    with_element(dtype, f);
  }
}

// A block of 2^15 elements takes one core 0.1 to 0.3 ms: small enough to balance the load, large
// enough to hide the cost of distributing blocks.
constexpr std::int64_t block_elements = std::int64_t{1} << 15;

// Calls f(begin, end) for blocks of at most `block` that cover 0 … count-1, on the team. The blocks
// depend on the numbers alone. `block` is an integer, or an integral_constant, which saves small
// ops two divisions.
template <class Block, class F>
void for_blocks_of(Block block, Team& team, std::int64_t count, const F& f) {
  const auto run_block = [&](std::size_t i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * block;
    f(begin, std::min(begin + block, count));
  };
  // A std::function of a reference needs no memory of its own.
  team.run(static_cast<std::size_t>((count + block - 1) / block), std::cref(run_block));
}

// The same for elements.
template <class F>
void for_blocks(Team& team, std::int64_t elements, const F& f) {
  constexpr std::integral_constant<std::int64_t, block_elements> block;
  for_blocks_of(block, team, elements, f);
}

// The same for rows of `length` elements, which aren't split.
template <class F>
void for_row_blocks(Team& team, std::int64_t rows, std::int64_t length, const F& f) {
  for_blocks_of(std::max<std::int64_t>(1, block_elements / length), team, rows, f);
}

// Computes out[i] = f(x[i], y[i], …) for all elements of type T, on the team. The op must have
// `inputs` inputs of the output's shape, with elements of type In.
template <class T, std::size_t inputs, class In = T, class F>
void for_each_of_type(const CpuCall& call, const F& f) {
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    const std::array<const In*, inputs> in = {call.inputs[k].template as<In>()...};
    T* const out = call.output.as<T>();
    for_blocks(call.team, call.output.type.shape.elements(),
               [=](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) out[i] = f(in[k][i]...);
               });
  }
  (std::make_index_sequence<inputs>{});
}

// The same for the output's element type. For kinds without takes_integers.
template <std::size_t inputs, class F>
void for_each_element(const CpuCall& call, const F& f) {
  with_element(call.output.type.dtype,
               [&](auto element) { for_each_of_type<decltype(element), inputs>(call, f); });
}

// The same for kinds with takes_integers.
template <std::size_t inputs, class F>
void for_each_number(const CpuCall& call, const F& f) {
  with_number(call.output.type.dtype,
              [&](auto element) { for_each_of_type<decltype(element), inputs>(call, f); });
}

// So many numbers are added up one after the other at most: the sum has then lost no more than as
// many units in the last place (Higham, Accuracy and Stability of Numerical Algorithms, 4.2).
constexpr std::int64_t summed_in_a_row_max = 64;

// start ∘ f(0) ∘ f(1) ∘ … for `count` values, in a fixed order that can be vectorised: each of
// `lanes` partial results takes every `lanes`-th value.
template <std::int64_t lanes, class T, class Combine, class F>
[[gnu::always_inline]] inline T reduce_values(T start, std::int64_t count, const Combine& combine,
                                              const F& f) {
  if (count < lanes) {  // the same, without partial results of nothing
    T result = start;
    for (std::int64_t i = 0; i < count; ++i) result = combine(result, f(i));
    return result;
  }
  std::array<T, lanes> partial;
  partial.fill(start);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::int64_t j = 0; j < lanes; ++j) partial[j] = combine(partial[j], f(i + j));
  }
  for (; i < count; ++i) partial[i % lanes] = combine(partial[i % lanes], f(i));
  T result = start;
  for (const T p : partial) result = combine(result, p);
  return result;
}

}  // namespace troupe
