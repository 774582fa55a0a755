// How launchers start kernels: the size of the grid, and what happens if a launch fails.
#pragma once

#include "core/backend/cuda/cuda_call.hpp"
#include "core/backend/cuda/kernels/threads.cuh"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace troupe {

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = device_kernels::block_threads;
};

inline constexpr LaunchShape single_block{.blocks = 1,
                                          .threads = device_kernels::single_block_threads};

// Blocks for `items`, of which each block takes `per_block` at a time; at most so many that the
// largest GPUs are full several times over. Kernels go on in steps of the grid.
inline LaunchShape blocks_for(std::int64_t items, std::int64_t per_block) {
  constexpr std::int64_t blocks_max = 1 << 14;
  return {.blocks = static_cast<unsigned>(
              std::clamp((items + per_block - 1) / per_block, std::int64_t{1}, blocks_max))};
}

// For kernels in which a thread computes `per_thread` elements at a time.
inline LaunchShape threads_for(std::int64_t elements, std::int64_t per_thread = 1) {
  return blocks_for(elements, per_thread * device_kernels::block_threads);
}

// The lanes that share a row of `length` elements: a power of two, at most `lanes_max`.
inline unsigned lanes_for(std::int64_t length, unsigned lanes_max = device_kernels::block_threads) {
  return std::min(lanes_max,
                  std::bit_ceil(static_cast<unsigned>(std::min<std::int64_t>(length, lanes_max))));
}

// Throws a run Error if the kernel can't be launched.
template <class... P>
void launch(const CudaCall& call, LaunchShape shape, void (*kernel)(P...),
            std::type_identity_t<P>... arguments) {
  void* places[] = {&arguments...};
  constexpr std::size_t bytes[] = {sizeof(P)...};
  call.on.launch({.kernel = reinterpret_cast<const void*>(kernel),
                  .blocks = shape.blocks,
                  .threads = shape.threads,
                  .arguments = places,
                  .bytes = bytes});
}

}  // namespace troupe
