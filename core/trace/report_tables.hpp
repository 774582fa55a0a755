// The tables of report_text(). Each is a block of lines of at most 100 columns, or empty.
#pragma once

#include "core/trace/report.hpp"

#include <string>

namespace troupe {

// One row per scenario with what it came to, then a line for each that failed, was interrupted or
// gave other values than the serial execution.
std::string scenario_table(const Report& report);

// Utilisation, a row per device and link direction and a column per scenario. Shows the 20 busiest
// and says how many more there are; those that never worked are only named.
std::string utilisation_table(const Report& report);

}  // namespace troupe
