// Kernels of spin and sleep, which only take time. Their results are made of hashes of the inputs
// (core/ops/fingerprint.hpp), which are kept in the output meanwhile. A thread has one hash.
#pragma once

#include "core/ops/fingerprint.hpp"

#include <bit>
#include <cstdint>

namespace troupe::device_kernels {

#ifdef __CUDACC__
// Nanoseconds since some moment. On CPUs, emulated_device.hpp has this function.
__device__ inline std::int64_t device_time_ns() {
  std::int64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
#endif

__global__ inline void start_hashes(std::uint64_t* hashes) {
  hashes[threadIdx.x] = Fingerprint::initial(threadIdx.x);
}

// `count` elements of an input, at most as many as an input has in a Fingerprint.
template <class Word>
__global__ void fold_input(const Word* input, std::int64_t count, std::uint64_t* hashes) {
  const Word word = input[threadIdx.x % count];
  hashes[threadIdx.x] = Fingerprint::folded(hashes[threadIdx.x], word);
}

// a = a*a + a: see core/ops/spin.cpp. The values take the place of the hashes.
__global__ inline void spin_lanes(double* values, std::int64_t iterations) {
  const auto hash = std::bit_cast<std::uint64_t>(values[threadIdx.x]);
  double a = -0.125 - 0.25 * Fingerprint::unit_of(hash);
  for (std::int64_t i = 0; i < iterations; ++i) a = a * a + a;
  values[threadIdx.x] = a;
}

// For one thread.
__global__ inline void sleep_lane(double* value, std::int64_t duration_ns) {
  const std::int64_t end = device_time_ns() + duration_ns;
  for (std::int64_t left = duration_ns; left > 0; left = end - device_time_ns()) {
    __nanosleep(left < 1000 ? 100 : 1000);
  }
  *value = Fingerprint::unit_of(std::bit_cast<std::uint64_t>(*value));
}

}  // namespace troupe::device_kernels
