// Seeded random numbers with the same values on every machine and backend.
#pragma once

#include <cstdint>

namespace troupe {

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// OOPSLA 2014). A bijection on 64 bits whose output bits depend on all input bits, so that
// `mix(seed + i)` is a counter-based PRNG.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// A sequential generator over `mix`.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(mix(seed)) {}
  constexpr std::uint64_t next() { return mix(state_++); }
  // Uniform over 0..bound-1. `bound` must be above 0. The bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  // Uniform over [0, 1).
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace troupe
