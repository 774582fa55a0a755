// Reads a decimal number, and says why where that fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

enum class NumberStatus : std::uint8_t {
  ok,
  no_number,       // the text doesn't begin with a number, or with inf or nan
  too_large,       // beyond the largest double, 1.8e308
  too_near_zero,   // not zero, but nearer to zero than the smallest double, 4.9e-324
  has_separators,  // "1,000", "1.000.000", "1_000"
};

struct Number {
  NumberStatus status = NumberStatus::ok;
  double value = 0;        // if ok
  std::size_t length = 0;  // if ok: bytes of the text that it takes
};

// Reads the number that the text begins with; "1.5", "-3" and "1e3" are numbers, "+1" is not.
Number leading_number(std::string_view text);

}  // namespace troupe
