// The axis above a text timeline.
#pragma once

#include "core/base/time.hpp"

#include <cstddef>
#include <string>

namespace troupe {

struct TimeAxis {
  std::string labels;  // "0        0.2 s       0.4 s", the first letter above its tick
  std::string line;  // "┌────────┬───────────┬────┐"
};

// An axis of `columns` columns of `column_time` (> 0) each. Ticks stand at round times, every 10 to
// 25 columns. The unit suits an axis of `columns_max` columns, so that several axes are alike.
// Labels that would touch the one before, or reach beyond `width_max`, are left out.
TimeAxis time_axis(Duration column_time, std::size_t columns, std::size_t columns_max,
                   std::size_t width_max);

}  // namespace troupe
