#include "core/trace/gantt.hpp"
#include "core/trace/report_tables.hpp"
#include "core/trace/text_layout.hpp"
#include "core/trace/writers.hpp"

#include <fmt/format.h>

namespace troupe {

std::string report_text(const Report& report) {
  const bool simulated = report.mode == "simulate";
  const std::string seed = fmt::format(", seed {}", report.seed);
  std::string out;
  if (!report.title.empty()) {
    for (const std::string& line : wrap(report.title, page_width)) out += line + "\n";
  }
  out += simulated ? "Simulated on " : "Run on ";
  out += shorten(printable(report.machine), page_width - 14 - seed.size()) + seed + "\n";
  for (const std::string& block :
       {scenario_table(report), utilisation_table(report), gantt_charts(report)}) {
    if (!block.empty()) out += "\n" + block;
  }
  if (report.interrupted) out += "\nInterrupted: this is what had finished by then.\n";
  if (!report.notes.empty()) out += "\n";
  for (const std::string& note : report.notes) {
    std::string lead = "Note: ";
    for (const std::string& line : wrap(note, page_width - lead.size())) {
      append_line(out, lead + line);
      lead = "      ";
    }
  }
  return out;
}

}  // namespace troupe
