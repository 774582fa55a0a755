// Writes reports as text, as JSON and as Chrome traces.
#pragma once

#include "core/trace/report.hpp"

#include <iosfwd>
#include <string>

namespace troupe {

// The tables and, for each scenario, a Gantt chart. Lines have at most 100 columns; names that
// don't fit are shortened in the middle.
std::string report_text(const Report& report);

// The JSON report, which docs/report.md describes. The same report gives the same bytes on any
// machine.
void write_report_json(const Report& report, std::ostream& out);

// Chrome trace JSON (Trace Event Format), which Perfetto and chrome://tracing open: a process per
// scenario, a thread per track, flow arrows along dependencies. Writes in pieces, without a copy of
// the whole text in memory.
void write_chrome_trace(const Report& report, std::ostream& out);

}  // namespace troupe
