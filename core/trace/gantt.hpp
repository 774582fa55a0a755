// Gantt charts as text: a row per track, a letter per group of ops.
#pragma once

#include "core/trace/report.hpp"

#include <string>

namespace troupe {

// A chart per scenario, with at most 100 columns and the 24 busiest tracks. If the longest scenario
// takes at most 4 times as long as the shortest, all charts have the same time axis, so that they
// can be compared by eye. Time and memory are linear in the number of spans.
std::string gantt_charts(const Report& report);

}  // namespace troupe
