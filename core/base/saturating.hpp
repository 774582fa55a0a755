// Sums and products of counts that stop at the largest number instead of starting again at 0.
#pragma once

#include <cstdint>
#include <limits>

namespace troupe {

// As in C++26's <numeric>.
constexpr std::uint64_t add_sat(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum < a ? std::numeric_limits<std::uint64_t>::max() : sum;
}
constexpr std::uint64_t mul_sat(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t product_max = std::numeric_limits<std::uint64_t>::max();
  return b != 0 && a > product_max / b ? product_max : a * b;
}

}  // namespace troupe
