// Timelines as text: a row per track, a letter per group of ops.
#pragma once

#include "core/trace/report.hpp"

#include <string>

namespace troupe {

// A chart per scenario, of at most 100 columns and the 24 busiest tracks each. They share one time
// axis where the longest is at most 4 times as long as the shortest, so that they can be compared
// by eye. Takes time and memory linear in the number of spans.
std::string gantt_charts(const Report& report);

}  // namespace troupe
