#include "core/trace/gantt.hpp"

#include "core/base/saturating.hpp"
#include "core/trace/busiest_rows.hpp"
#include "core/trace/text_layout.hpp"
#include "core/trace/time_axis.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t chart_rows_max = 24;
constexpr std::size_t chart_name_width = 24;
constexpr std::size_t chart_name_width_max = 48;
constexpr std::size_t chart_percent_width = 6;  // " 100 %"
constexpr std::size_t letters_max = 26;
constexpr std::uint32_t others = letters_max;  // the one symbol of all other groups
constexpr char others_symbol = '#';
constexpr std::int64_t common_axis_ratio_max = 4;

// The tracks of a chart, and the letters of its groups.
struct Chart {
  std::vector<std::uint32_t> tracks = {};  // the tracks shown, in the order of the timeline
  std::size_t more_tracks = 0;             // busy, but not shown
  std::size_t idle_tracks = 0;
  std::vector<std::uint32_t> symbol_of_label = {};        // 0..others
  std::array<char, letters_max + 1> letter = {};          // by symbol
  std::vector<std::uint32_t> label_of_symbol = {};        // without others
  std::array<std::uint64_t, letters_max + 1> count = {};  // on all tracks
  std::size_t labels_used = 0;
  Duration length{0};
};

Duration begin_of(const Span& s) {
  return std::max(s.start.time_since_epoch(), Duration{0});
}
Duration end_of(const Span& s) {
  return std::max(s.end.time_since_epoch(), begin_of(s));
}

// The indices of the `count_max` largest weights above 0, in ascending order.
std::vector<std::uint32_t> heaviest(const std::vector<std::uint64_t>& weights,
                                    std::size_t count_max) {
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) chosen.push_back(i);
  }
  if (chosen.size() > count_max) {
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return weights[a] > weights[b]; });
    chosen.resize(count_max);
    std::sort(chosen.begin(), chosen.end());
  }
  return chosen;
}

using Letters = std::map<std::string, char, std::less<>>;  // by label

// Letters for a name, best first: the initials of its words, then all its letters.
std::string candidates(std::string_view name) {
  std::string initials, rest;
  bool word_begins = true;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = byte < 0x80 && std::isalpha(byte) != 0;
    if (letter) (word_begins ? initials : rest) += static_cast<char>(std::tolower(byte));
    word_begins = !letter;
  }
  return initials + rest + "abcdefghijklmnopqrstuvwxyz";
}

// A label keeps its letter from chart to chart, if no other one has it there. Of the others, first
// those get the letter that they begin with for which it is free.
void choose_letters(const Timeline& timeline, Chart& chart, Letters& letters) {
  std::string taken;
  const auto label = [&](std::size_t i) -> const std::string& {
    return timeline.labels[chart.label_of_symbol[i]];
  };
  const auto take = [&](std::size_t i, char letter) {
    if (chart.letter[i] != 0 || taken.find(letter) != std::string::npos) return;
    chart.letter[i] = letter;
    taken += letter;
  };
  const std::size_t count = chart.label_of_symbol.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto known = letters.find(label(i)); known != letters.end()) take(i, known->second);
  }
  for (std::size_t i = 0; i < count; ++i) take(i, candidates(label(i)).front());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string wish = candidates(label(i));
    if (chart.letter[i] == 0) take(i, wish[wish.find_first_not_of(taken)]);
    letters.try_emplace(label(i), chart.letter[i]);
  }
  chart.letter[others] = others_symbol;
}

// Not yet how long they are busy.
std::vector<RowLoad> tracks_of(const ScenarioReport& scenario) {
  std::set<std::string_view> devices;
  for (const ResourceUse& use : scenario.resources) {
    if (use.kind == ResourceUse::Kind::device) devices.insert(use.name);
  }
  std::vector<RowLoad> tracks;
  tracks.reserve(scenario.timeline.tracks.size());
  for (const Track& track : scenario.timeline.tracks) {
    tracks.push_back({.is_device = devices.contains(track.resource)});
  }
  return tracks;
}

Chart chart_of(const ScenarioReport& scenario, Letters& letters) {
  const Timeline& timeline = scenario.timeline;
  Chart chart;
  chart.length = scenario.makespan;
  // Adds one nanosecond to each span, so that spans of length 0 count too.
  const auto busy_of = [](const Span& s) {
    return static_cast<std::uint64_t>((end_of(s) - begin_of(s)).count()) + 1;
  };
  std::vector<RowLoad> tracks = tracks_of(scenario);
  for (const Span& s : timeline.spans) {
    tracks[s.track].busy = add_sat(tracks[s.track].busy, busy_of(s));
    chart.length = std::max(chart.length, end_of(s));
  }
  const auto busy_tracks = static_cast<std::size_t>(
      std::ranges::count_if(tracks, [](const RowLoad& track) { return track.busy > 0; }));
  chart.tracks = busiest_rows(tracks, chart_rows_max);
  chart.more_tracks = busy_tracks - chart.tracks.size();
  chart.idle_tracks = tracks.size() - busy_tracks;

  std::vector<bool> is_shown(tracks.size());
  for (const std::uint32_t track : chart.tracks) is_shown[track] = true;
  std::vector<std::uint64_t> label_busy(timeline.labels.size());  // on the tracks shown
  for (const Span& s : timeline.spans) {
    if (is_shown[s.track]) label_busy[s.label] = add_sat(label_busy[s.label], busy_of(s));
  }
  const auto used = [](std::uint64_t busy) { return busy > 0; };
  chart.labels_used =
      static_cast<std::size_t>(std::count_if(label_busy.begin(), label_busy.end(), used));
  chart.label_of_symbol = heaviest(label_busy, letters_max);
  chart.symbol_of_label.assign(timeline.labels.size(), others);
  for (std::uint32_t i = 0; i < chart.label_of_symbol.size(); ++i) {
    chart.symbol_of_label[chart.label_of_symbol[i]] = i;
  }
  for (const Span& s : timeline.spans) {
    if (used(label_busy[s.label])) ++chart.count[chart.symbol_of_label[s.label]];
  }
  choose_letters(timeline, chart, letters);
  return chart;
}

// One column of one track: the busy time of each symbol, and the symbols of ops that begin there.
struct Cell {
  std::array<std::uint64_t, letters_max + 1> busy_ns = {};
  std::uint32_t begins = 0;  // bits by symbol
};

class Grid {
 public:
  Grid(const Timeline& timeline, const Chart& chart, Duration cell_time)
      : chart_(chart),
        cell_ns_(cell_time.count()),
        columns_(static_cast<std::size_t>((chart.length.count() + cell_ns_ - 1) / cell_ns_)),
        cells_(chart.tracks.size() * columns_) {
    std::vector<std::size_t> row_of_track(timeline.tracks.size(), chart_rows_max);
    for (std::size_t row = 0; row < chart.tracks.size(); ++row) {
      row_of_track[chart.tracks[row]] = row;
    }
    for (const Span& s : timeline.spans) {
      if (row_of_track[s.track] < chart_rows_max) add(s, row_of_track[s.track]);
    }
  }

  std::size_t columns() const { return columns_; }

  // A capital letter where an op begins, a small letter where it continues, a dot where the track
  // is busy for less than a quarter of the column. If an op begins in a dot, or where another is
  // busy for longer, the next column that shows it has the capital letter.
  std::string row_text(std::size_t row) const {
    std::string text;
    std::uint32_t begun = 0;
    for (std::size_t c = 0; c < columns_; ++c) {
      const Cell& cell = cells_[row * columns_ + c];
      const auto longest = std::max_element(cell.busy_ns.begin(), cell.busy_ns.end());
      const auto symbol = static_cast<std::size_t>(longest - cell.busy_ns.begin());
      begun |= cell.begins;
      if (total(cell) == 0 && cell.begins == 0) {
        text += " ";
        begun = 0;
      } else if (4 * total(cell) < length(c)) {
        text += "·";
      } else {
        const char letter = chart_.letter[symbol];
        const bool begins = (begun >> symbol & 1U) != 0;
        text +=
            begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
        begun &= ~(1U << symbol);
      }
    }
    return text;
  }

  double busy_ratio(std::size_t row) const {
    std::int64_t busy_ns = 0;
    for (std::size_t c = 0; c < columns_; ++c) busy_ns += total(cells_[row * columns_ + c]);
    return static_cast<double>(busy_ns) / static_cast<double>(chart_.length.count());
  }

 private:
  void add(const Span& s, std::size_t row) {
    const std::int64_t begin = begin_of(s).count();
    const std::int64_t end = end_of(s).count();
    const std::uint32_t symbol = chart_.symbol_of_label[s.label];
    const std::size_t first = std::min(static_cast<std::size_t>(begin / cell_ns_), columns_ - 1);
    Cell* cells = &cells_[row * columns_];
    cells[first].begins |= 1U << symbol;
    for (std::size_t c = first; c < columns_; ++c) {
      const std::int64_t cell_begin = static_cast<std::int64_t>(c) * cell_ns_;
      if (cell_begin >= end) break;
      std::uint64_t& busy = cells[c].busy_ns[symbol];
      const auto more = std::min(end, cell_begin + cell_ns_) - std::max(begin, cell_begin);
      busy = add_sat(busy, static_cast<std::uint64_t>(more));
    }
  }

  // The time that a column covers. The last column may be shorter.
  std::int64_t length(std::size_t column) const {
    const std::int64_t begin = static_cast<std::int64_t>(column) * cell_ns_;
    return std::min(cell_ns_, chart_.length.count() - begin);
  }

  // The busy time of a column. At most the whole column, even if ops overlap on one track (flows of
  // a fair link).
  std::int64_t total(const Cell& cell) const {
    const std::uint64_t busy =
        std::accumulate(cell.busy_ns.begin(), cell.busy_ns.end(), std::uint64_t{0}, add_sat);
    return static_cast<std::int64_t>(std::min(busy, static_cast<std::uint64_t>(cell_ns_)));
  }

  const Chart& chart_;
  std::int64_t cell_ns_;
  std::size_t columns_;
  std::vector<Cell> cells_;
};

void append_legend(std::string& out, const Timeline& timeline, const Chart& chart,
                   std::size_t indent) {
  std::string line(indent, ' ');
  std::size_t used = indent;
  const auto item = [&](const std::string& text) {
    const std::size_t width = display_width(text);
    if (used > indent && used + 3 + width > page_width) {
      append_line(out, std::exchange(line, std::string(indent, ' ')));
      used = indent;
    }
    if (used > indent) line += "   ", used += 3;
    line += text;
    used += width;
  };
  for (std::size_t i = 0; i < chart.label_of_symbol.size(); ++i) {
    const std::string name = shorten(printable(timeline.labels[chart.label_of_symbol[i]]), 40);
    item(fmt::format("{} {} ×{}", chart.letter[i], name, count_text(chart.count[i])));
  }
  if (chart.count[others] > 0) {
    item(fmt::format("{} {} more groups ×{}", others_symbol,
                     count_text(chart.labels_used - chart.label_of_symbol.size()),
                     count_text(chart.count[others])));
  }
  append_line(out, line);
}

// The line has a mark at the lower bound of the makespan.
std::string bottom_line(const ScenarioReport& s, std::size_t columns, Duration cell_time) {
  std::size_t mark = columns;
  if (s.outcome == Outcome::done && s.lower_bound.count() > 0 && s.lower_bound <= s.makespan) {
    mark = std::min(static_cast<std::size_t>((s.lower_bound.count() - 1) / cell_time.count()),
                    columns - 1);
  }
  std::string line = "└";
  for (std::size_t c = 0; c < columns; ++c) line += c == mark ? "╨" : "─";
  return line + "┘";
}

void append_chart(std::string& out, const ScenarioReport& scenario, const Chart& chart,
                  std::size_t number, std::size_t name_width, Duration cell_time,
                  std::size_t columns_max) {
  std::string title = fmt::format("{}  {} · {}", number, shorten(printable(scenario.name), 60),
                                  time_text(scenario.makespan));
  if (scenario.outcome != Outcome::done) {
    title.append(" · ").append(outcome_name(scenario.outcome));
  }
  append_line(out, title);
  if (chart.tracks.empty()) {
    out += scenario.outcome == Outcome::done ? "   nothing ran\n" : "   nothing has finished\n";
    return;
  }
  const Grid grid(scenario.timeline, chart, cell_time);
  const TimeAxis axis =
      time_axis(cell_time, grid.columns(), columns_max, page_width - name_width - 1);
  const std::string margin(name_width + 1, ' ');
  append_line(out, margin + axis.labels);
  append_line(out, margin + axis.line);
  for (std::size_t row = 0; row < chart.tracks.size(); ++row) {
    const std::string name = printable(scenario.timeline.tracks[chart.tracks[row]].name);
    append_line(out, pad_right(shorten(name, name_width), name_width) + " │" + grid.row_text(row) +
                         "│" + pad_left(percent_text(grid.busy_ratio(row)), chart_percent_width));
  }
  append_line(out, margin + bottom_line(scenario, grid.columns(), cell_time));
  append_legend(out, scenario.timeline, chart, name_width + 2);
  if (chart.more_tracks > 0) {
    append_line(out, std::string(name_width + 2, ' ') +
                         fmt::format("… and {} more tracks, no busier than others of their kind",
                                     count_text(chart.more_tracks)));
  }
}

}  // namespace

std::string gantt_charts(const Report& report) {
  const auto has_run = [](const ScenarioReport& s) { return s.outcome != Outcome::not_run; };
  if (std::none_of(report.scenarios.begin(), report.scenarios.end(), has_run)) return {};
  std::vector<Chart> charts;
  Letters letters;
  std::size_t drawn = 0;
  std::vector<std::string> names = {"name"};
  Duration longest{1};
  Duration shortest = Duration::max();
  for (const ScenarioReport& s : report.scenarios) {
    charts.push_back(chart_of(s, letters));
    Chart& chart = charts.back();
    chart.length = std::max(chart.length, Duration{1});
    for (const std::uint32_t t : chart.tracks) {
      names.push_back(printable(s.timeline.tracks[t].name));
    }
    if (chart.tracks.empty()) continue;
    ++drawn;
    longest = std::max(longest, chart.length);
    shortest = std::min(shortest, chart.length);
  }
  const std::size_t name_width = name_columns(names, chart_name_width, chart_name_width_max);
  const std::size_t columns_max = page_width - name_width - 3 - chart_percent_width;
  const bool common_axis = longest / common_axis_ratio_max <= shortest;

  std::string out =
      "Timelines: a letter per group of ops, a capital where an op begins, · where a track was "
      "busy\n"
      "for less than a quarter of the column, ╨ the lower bound. Transfers are drawn, and counted "
      "at "
      "the\n"
      "right, with their waits for chunks.";
  out += common_axis && drawn > 1 ? " All on one time axis.\n\n" : "\n\n";
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::int64_t length = (common_axis ? longest : charts[i].length).count();
    const auto columns = static_cast<std::int64_t>(columns_max);
    if (!has_run(report.scenarios[i])) continue;
    if (i > 0) out += "\n";
    append_chart(out, report.scenarios[i], charts[i], i + 1, name_width,
                 Duration{(length + columns - 1) / columns}, columns_max);
  }
  return out;
}

}  // namespace troupe
