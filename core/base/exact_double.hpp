// Whole numbers as double, where that changes nothing.
#pragma once

#include <concepts>
#include <limits>
#include <optional>

namespace troupe {

// The double that equals `integer`; nullopt if none does: from 2^53 on, some lie in between.
template <std::integral Integer>
constexpr std::optional<double> exact_double(Integer integer) {
  // Beyond it, converting back is undefined: 2^63 is a double that no int64 is.
  constexpr int bits = std::numeric_limits<Integer>::digits;
  constexpr double end = 2.0 * static_cast<double>(Integer{1} << (bits - 1));
  const auto number = static_cast<double>(integer);
  if (number < end && static_cast<Integer>(number) == integer) return number;
  return {};
}

}  // namespace troupe
