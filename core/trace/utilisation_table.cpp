#include "core/base/saturating.hpp"
#include "core/trace/busiest_rows.hpp"
#include "core/trace/report_tables.hpp"
#include "core/trace/text_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t table_rows_max = 20;
constexpr std::size_t table_name_width = 24;
constexpr std::size_t table_name_width_max = 48;
constexpr std::size_t idle_width_max = 3 * page_width;
constexpr std::size_t cell_width_min = 8;  // "  ▇  97%"
constexpr std::size_t cell_width_max = 38;
constexpr std::size_t bar_cell_width = 16;      // the narrowest cell with a bar
constexpr std::size_t table_percent_width = 5;  // "100 %"

struct Row {
  std::string_view name;
  bool is_device = false;
  std::uint64_t busy_ns = 0;                  // over all scenarios
  std::vector<const ResourceUse*> uses = {};  // by scenario; null if the scenario lacks it
};

std::vector<Row> rows_of(const Report& report) {
  std::vector<Row> rows;
  std::map<std::string_view, std::size_t> row_by_name;
  for (std::size_t s = 0; s < report.scenarios.size(); ++s) {
    for (const ResourceUse& use : report.scenarios[s].resources) {
      const auto [found, is_new] = row_by_name.try_emplace(use.name, rows.size());
      if (is_new) rows.push_back({use.name, use.kind == ResourceUse::Kind::device});
      Row& row = rows[found->second];
      row.busy_ns = add_sat(row.busy_ns, static_cast<std::uint64_t>(use.busy.count()));
      row.uses.resize(report.scenarios.size());
      row.uses[s] = &use;
    }
  }
  return rows;
}

// "━━━━╾────", with a resolution of half a column.
std::string bar(double ratio, std::size_t width) {
  const auto halves = static_cast<std::size_t>(
      std::lround(std::clamp(ratio, 0.0, 1.0) * 2 * static_cast<double>(width)));
  return repeat("━", halves / 2) + repeat("╾", halves % 2) + repeat("─", width - (halves + 1) / 2);
}

std::string_view level(double ratio) {
  constexpr std::string_view levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return levels[static_cast<std::size_t>(std::lround(std::clamp(ratio, 0.0, 1.0) * 7))];
}

std::string cell(const ResourceUse* use, std::size_t width) {
  if (use == nullptr || !std::isfinite(use->utilisation)) return std::string(width, ' ');
  if (use->busy.count() == 0) return pad_left("·  ", width);
  std::string percent = percent_text(use->utilisation);
  if (width < bar_cell_width) {
    std::erase(percent, ' ');
    return pad_left(std::string(level(use->utilisation)) + pad_left(percent, 5), width);
  }
  return "  " + bar(use->utilisation, width - 2 - 1 - table_percent_width) + " " +
         pad_left(percent, table_percent_width);
}

// The numbers and names of scenarios, on two lines if names are long.
void append_heading(std::string& out, const Report& report, std::size_t first, std::size_t end,
                    std::size_t name_width, std::size_t width) {
  std::array<std::string, 2> head{pad_right("utilisation", name_width),
                                  std::string(name_width, ' ')};
  bool two_lines = false;
  for (std::size_t s = first; s < end; ++s) {
    if (width < bar_cell_width) {
      head[0] += pad_left(std::to_string(s + 1), width);
      continue;
    }
    const auto lines =
        wrap(fmt::format("{} {}", s + 1, printable(report.scenarios[s].name)), width - 2);
    std::string second = lines.size() > 1 ? lines[1] : "";
    if (lines.size() > 2) second = shorten(second, width - 3) + "…";
    two_lines = two_lines || !second.empty();
    head[0] += pad_right("  " + lines[0], width);
    head[1] += pad_right("  " + second, width);
  }
  append_line(out, head[0]);
  if (two_lines) append_line(out, head[1]);
}

// At most table_rows_max, in their original order.
std::vector<Row> busiest(const std::vector<Row>& rows) {
  std::vector<RowLoad> loads;
  loads.reserve(rows.size());
  for (const Row& r : rows) loads.push_back({r.busy_ns, r.is_device});
  std::vector<Row> chosen;
  for (const std::uint32_t i : busiest_rows(loads, table_rows_max)) chosen.push_back(rows[i]);
  return chosen;
}

// Of those that were never busy; of many the first ones.
std::string idle_names(const std::vector<Row>& rows) {
  std::string text;
  std::size_t left_out = 0;
  for (const Row& r : rows) {
    if (r.busy_ns > 0) continue;
    const std::string name = shorten(printable(r.name), page_width / 2);
    if (left_out > 0 || display_width(text) + display_width(name) > idle_width_max) {
      ++left_out;
    } else {
      text += (text.empty() ? "" : ", ") + name;
    }
  }
  return left_out == 0 ? text : fmt::format("{} and {} more", text, count_text(left_out));
}

void append_wrapped(std::string& out, const std::string& text) {
  for (const std::string& line : wrap(text, page_width)) out += line + "\n";
}

}  // namespace

std::string utilisation_table(const Report& report) {
  std::vector<Row> rows = rows_of(report);
  if (rows.empty()) return {};
  const std::string idle = idle_names(rows);
  const auto working = static_cast<std::size_t>(
      std::ranges::count_if(rows, [](const Row& r) { return r.busy_ns > 0; }));
  rows = busiest(rows);

  std::string out;
  std::vector<std::string> names = {"utilisation"};
  for (const Row& r : rows) names.push_back(printable(r.name));
  const std::size_t name_width = name_columns(names, table_name_width, table_name_width_max);
  const std::size_t space = page_width - name_width;
  const std::size_t scenarios = report.scenarios.size();
  const std::size_t per_block = std::min(scenarios, space / cell_width_min);
  const std::size_t width = std::min(space / per_block, cell_width_max);

  for (std::size_t first = 0; first < scenarios && !rows.empty(); first += per_block) {
    const std::size_t end = std::min(first + per_block, scenarios);
    append_heading(out, report, first, end, name_width, width);
    out += repeat("─", name_width + (end - first) * width) + "\n";
    for (const Row& r : rows) {
      std::string line = pad_right(shorten(printable(r.name), name_width), name_width);
      for (std::size_t s = first; s < end; ++s) line += cell(r.uses[s], width);
      append_line(out, std::move(line));
    }
    if (end < scenarios) out += "\n";
  }
  if (working > rows.size()) {
    append_wrapped(out, fmt::format("… and {} more, no busier than others of their kind",
                                    count_text(working - rows.size())));
  }
  if (!idle.empty()) append_wrapped(out, "never busy: " + idle);
  return out;
}

}  // namespace troupe
