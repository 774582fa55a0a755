#include "core/base/assert.hpp"
#include "core/trace/report_tables.hpp"
#include "core/trace/text_layout.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t gap = 2;              // between columns
constexpr std::size_t text_width_min = 6;   // of a wrapped column
constexpr std::size_t word_width_max = 12;  // longer words are broken if space is short

// A column of numbers is aligned right and as wide as its widest cell. A column of text is aligned
// left, and wrapped if space is short.
struct Column {
  std::array<std::string_view, 2> head;
  bool is_text = false;
  std::size_t width = 0;
  std::vector<std::string> cells = {};

  Column(std::string_view head_1, std::string_view head_2, bool text = false)
      : head{head_1, head_2}, is_text(text) {
    width = std::max(display_width(head_1), display_width(head_2));
  }
  // `cell` may have two lines.
  void add(std::string cell) {
    const std::size_t end = std::min(cell.find('\n'), cell.size());
    const std::string_view text = cell;
    width = std::max(width, display_width(text.substr(0, end)));
    if (end < cell.size()) width = std::max(width, display_width(text.substr(end + 1)));
    cells.push_back(std::move(cell));
  }
  std::vector<std::string> lines(std::size_t row, std::size_t at_width) const {
    return is_text ? wrap(cells[row], at_width) : std::vector{cells[row]};
  }
  std::size_t longest_word() const {
    std::size_t longest = std::max(display_width(head[1]), text_width_min);
    for (const std::string& cell : cells) {
      std::string word;
      for (const char c : cell + " ") {
        if (c == ' ' || c == '\n') {
          longest = std::max(longest, display_width(word));
          word.clear();
        } else {
          word += c;
        }
      }
    }
    return std::min(longest, word_width_max);
  }
  std::string align(std::string cell) const {
    return is_text ? pad_right(std::move(cell), width) : pad_left(std::move(cell), width);
  }
};

// Divides a width of `space` between two columns of text. If their natural widths fit, they get
// these; otherwise the division that takes the fewest lines, without breaking words if possible.
void share_width(Column& a, Column& b, std::size_t space) {
  if (a.width + b.width <= space) return;
  std::size_t a_min = a.longest_word();
  std::size_t b_min = b.longest_word();
  if (a_min + b_min > space) a_min = b_min = text_width_min;
  std::size_t best = 0;
  std::size_t best_lines = std::numeric_limits<std::size_t>::max();
  for (std::size_t width = a_min; width + b_min <= space; ++width) {
    std::size_t lines = 0;
    for (std::size_t row = 0; row < a.cells.size(); ++row) {
      lines += std::max(a.lines(row, width).size(), b.lines(row, space - width).size());
    }
    if (lines <= best_lines) best = width, best_lines = lines;
  }
  a.width = best;
  b.width = space - best;
}

std::string speedup_text(double speedup) {
  return fmt::format("{:.{}f}×", std::min(speedup, 99'999.0), speedup < 99.995 ? 2 : 0);
}

std::string efficiency_text(double ratio) {
  return fmt::format("{:.1f} %", std::clamp(ratio, 0.0, 9.99) * 100);
}

std::string finished_text(const ScenarioReport& s) {
  return fmt::format("{} of {}", count_text(s.finished), count_text(s.planned));
}

std::string verified_text(const ScenarioReport& s) {
  if (!s.verified) return "–";
  return *s.verified ? "yes" : "NO";
}

// "copy", and below it why the scenario isn't done.
std::string name_text(const ScenarioReport& s) {
  std::string text = shorten(printable(s.name), 50);
  if (s.outcome == Outcome::done) return text;
  if (s.outcome == Outcome::done_before) return text + "\ndone before";
  return text + fmt::format("\n✗ {}, {}", outcome_name(s.outcome), finished_text(s));
}

std::string bound_by_text(const ScenarioReport& s) {
  return s.bound_by.empty() ? "–" : shorten(printable(s.bound_by), 30);
}

using Scenario = const ScenarioReport&;

struct ColumnSpec {
  std::array<std::string_view, 2> head;  // two lines
  std::string (*cell)(Scenario);
  bool is_text = false;
};

// The columns after the scenario's number. Exactly two hold text, which share the rest of the page.
const ColumnSpec column_specs[] = {
    {{"", "scenario"}, name_text, true},
    {{"", "ops"}, [](Scenario s) { return count_text(s.ops); }},
    {{"trans-", "fers"}, [](Scenario s) { return count_text(s.transfers); }},
    {{"serial", "time"}, [](Scenario s) { return time_text(s.serial); }},
    {{"lower", "bound"}, [](Scenario s) { return time_text(s.lower_bound); }},
    {{"", "bound by"}, bound_by_text, true},
    {{"", "makespan"}, [](Scenario s) { return time_text(s.makespan); }},
    {{"", "speedup"}, [](Scenario s) { return s.is_rated() ? speedup_text(s.speedup()) : "–"; }},
    {{"", "overlap"},
     [](Scenario s) { return s.is_rated() ? efficiency_text(s.overlap_efficiency()) : "–"; }},
    {{"", "verified"}, verified_text},
};

std::vector<Column> columns_of(const Report& report) {
  std::vector<Column> columns;
  Column& number = columns.emplace_back("", "");
  for (std::size_t row = 0; row < report.scenarios.size(); ++row) {
    number.add(std::to_string(row + 1));
  }
  for (const ColumnSpec& spec : column_specs) {
    Column& column = columns.emplace_back(spec.head[0], spec.head[1], spec.is_text);
    for (const ScenarioReport& s : report.scenarios) column.add(spec.cell(s));
  }
  std::size_t fixed = (columns.size() - 1) * gap;
  std::vector<Column*> texts;
  for (Column& c : columns) {
    if (c.is_text) {
      texts.push_back(&c);
    } else {
      fixed += c.width;
    }
  }
  TROUPE_ASSERT(texts.size() == 2);
  share_width(*texts[0], *texts[1], page_width - std::min(fixed, page_width - 2 * text_width_min));
  return columns;
}

// Lines below the table: why a scenario ended early, and which tensors were wrong.
void append_remarks(std::string& out, const ScenarioReport& s, std::size_t number) {
  const auto remark = [&](const std::string& text) {
    const std::string prefix = fmt::format("✗ {}  ", number);
    const std::size_t indent = display_width(prefix);
    std::string lead = prefix;
    for (const std::string& line : wrap(text, page_width - indent)) {
      append_line(out, lead + line);
      lead = std::string(indent, ' ');
    }
  };
  const std::string name = shorten(printable(s.name), 60);
  if (s.outcome != Outcome::done && s.outcome != Outcome::done_before) {
    std::string text = fmt::format("{}: {}, {} ops and transfers finished", name,
                                   outcome_name(s.outcome), finished_text(s));
    if (!s.error.empty()) text += "\n" + s.error;
    remark(text);
  }
  if (s.verified && !*s.verified) {
    std::string text = name + ": not what the serial execution gives";
    if (!s.mismatch.empty()) text += "\n" + s.mismatch;
    remark(text);
  }
}

}  // namespace

std::string scenario_table(const Report& report) {
  if (report.scenarios.empty()) return {};
  const std::vector<Column> columns = columns_of(report);
  std::string out;
  const auto append_row = [&](const auto& cell_of) {
    std::string line;
    for (const Column& c : columns) {
      line += std::string(line.empty() ? 0 : gap, ' ') + c.align(cell_of(c));
    }
    append_line(out, std::move(line));
  };
  for (std::size_t i = 0; i < 2; ++i) {
    append_row([i](const Column& c) { return shorten(c.head[i], c.width); });
  }
  std::size_t width = (columns.size() - 1) * gap;
  for (const Column& c : columns) width += c.width;
  out += repeat("─", width) + "\n";

  for (std::size_t row = 0; row < report.scenarios.size(); ++row) {
    std::size_t height = 1;
    for (const Column& c : columns) height = std::max(height, c.lines(row, c.width).size());
    for (std::size_t i = 0; i < height; ++i) {
      append_row([&](const Column& c) {
        const std::vector<std::string> lines = c.lines(row, c.width);
        return i < lines.size() ? lines[i] : std::string();
      });
    }
  }
  out += repeat("─", width) + "\n";
  out +=
      "speedup: serial time / makespan · overlap efficiency: lower bound / makespan "
      "(100 % is the best)\n";
  for (std::size_t row = 0; row < report.scenarios.size(); ++row) {
    append_remarks(out, report.scenarios[row], row + 1);
  }
  return out;
}

}  // namespace troupe
