// The median of a list of values.
#pragma once

#include "core/base/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace troupe::bench {

// For an even number of values, the mean of the two in the middle. `values` must not be empty.
inline double median(std::vector<double> values) {
  TROUPE_ASSERT(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace troupe::bench
