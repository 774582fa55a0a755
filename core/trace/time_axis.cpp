#include "core/trace/time_axis.hpp"

#include "core/trace/text_layout.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::int64_t columns_per_tick_min = 10;

struct Unit {
  std::int64_t ns;
  std::string_view name;
};
constexpr std::array<Unit, 4> units{
    {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}, {1, "ns"}}};

// The format of multiples of `step_ns`, with the same number of decimals for all.
struct Format {
  Unit unit;
  int decimals = 0;
  std::int64_t last_digit_ns = 1;

  Format(std::int64_t length_ns, std::int64_t step_ns) {
    unit = *std::find_if(units.begin(), units.end(),
                         [&](const Unit& u) { return length_ns >= u.ns || u.ns == 1; });
    last_digit_ns = unit.ns;
    for (; last_digit_ns > step_ns; last_digit_ns /= 10) ++decimals;
  }
  std::string operator()(std::int64_t ns) const {
    if (ns == 0) return "0";
    std::string text = count_text(static_cast<std::uint64_t>(ns / unit.ns));
    if (decimals > 0) text += fmt::format(".{:0{}}", ns % unit.ns / last_digit_ns, decimals);
    return text.append(" ").append(unit.name);
  }
};

}  // namespace

TimeAxis time_axis(Duration column_time, std::size_t columns, std::size_t columns_max,
                   std::size_t width_max) {
  const std::int64_t column_ns = column_time.count();
  std::int64_t step_ns = 1;  // 1, 2 or 5 times a power of ten
  for (int i = 0; step_ns / columns_per_tick_min < column_ns; ++i) {
    step_ns = i % 3 == 1 ? step_ns / 2 * 5 : step_ns * 2;
  }
  const Format format(column_ns * static_cast<std::int64_t>(columns_max), step_ns);

  TimeAxis axis{"", "┌"};
  std::int64_t next_tick_ns = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    const std::int64_t end_ns = static_cast<std::int64_t>(c + 1) * column_ns;
    const bool tick = next_tick_ns < end_ns;
    if (tick) {
      const std::string label = format(next_tick_ns);
      if (axis.labels.size() <= c && c + 1 + label.size() <= width_max) {
        axis.labels = pad_right(std::move(axis.labels), c + 1) + label;
      }
      next_tick_ns += step_ns;
    }
    axis.line += tick && c > 0 ? "┬" : "─";
  }
  axis.line += "┐";
  return axis;
}

}  // namespace troupe
