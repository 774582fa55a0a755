// Reports and timelines as text and files.
#pragma once

#include "core/trace/report.hpp"

#include <iosfwd>
#include <string>

namespace troupe {

// The tables and, for each scenario, a Gantt chart; no line over 100 columns (names are shortened
// in the middle where they would not fit).
std::string report_text(const Report& report);

// The JSON report; its schema stands at the top of report_json.cpp. The same report gives the same
// bytes on any machine.
void write_report_json(const Report& report, std::ostream& out);

// Chrome trace JSON (Trace Event Format), which Perfetto and chrome://tracing open: a process per
// scenario, a thread per track, flow arrows along dependencies. Streams out; holds no copy.
void write_chrome_trace(const Report& report, std::ostream& out);

}  // namespace troupe
