// The median of measurements.
#pragma once

#include "core/base/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace troupe::bench {

// Of an even number the mean of the two in the middle; there must be one at least.
inline double median(std::vector<double> values) {
  TROUPE_ASSERT(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace troupe::bench
