// The axis above a text timeline.
#pragma once

#include "core/base/time.hpp"

#include <cstddef>
#include <string>

namespace troupe {

struct TimeAxis {
  std::string labels;  // "0        0.2 s       0.4 s", each begins above its tick
  std::string line;  // "┌────────┬───────────┬────┐"
};

// An axis of `columns` columns of `column_time` each, which must be above 0. Ticks are at round
// times, every 10 to 25 columns. The unit is chosen for an axis of `columns_max` columns, so that
// axes of several charts have the same unit. Labels that would touch the label before, or extend
// beyond column `width_max`, are left out.
TimeAxis time_axis(Duration column_time, std::size_t columns, std::size_t columns_max,
                   std::size_t width_max);

}  // namespace troupe
