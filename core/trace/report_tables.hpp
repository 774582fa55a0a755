// The tables of report_text(). Each has lines of at most 100 columns, or is empty.
#pragma once

#include "core/trace/report.hpp"

#include <string>

namespace troupe {

// A row of results per scenario, then a line for each scenario that failed, was interrupted or
// differs from the serial execution.
std::string scenario_table(const Report& report);

// The utilisation table: a row per device and link direction, a column per scenario. Shows the 20
// busiest rows and the number of other busy rows. Names the devices and link directions that were
// never busy.
std::string utilisation_table(const Report& report);

}  // namespace troupe
