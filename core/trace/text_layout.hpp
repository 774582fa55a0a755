// Layout of plain text: display widths, shortening, wrapping, and formats of numbers.
#pragma once

#include "core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// The largest width of a line of a report, in columns.
constexpr std::size_t page_width = 100;

// `text` as valid UTF-8 without control characters, those of writing directions among them: these
// become spaces, bytes that aren't UTF-8 become U+FFFD. Text passed to the functions below must be
// printable() unless they take any text.
std::string printable(std::string_view text);

// Columns that `text` takes on a terminal: 0 for combining marks, 2 for East Asian wide characters
// and emoji.
std::size_t display_width(std::string_view text);

// `text` in at most `width` columns. If it is wider, "…" replaces its middle.
std::string shorten(std::string_view text, std::size_t width);

// Columns for a list of names: as many as the widest needs, but at most `usual_max`, or more, up to
// `width_max`, where names that differ would be alike when they are shortened to that.
std::size_t name_columns(const std::vector<std::string>& names, std::size_t usual_max,
                         std::size_t width_max);

// Splits any text into lines of at most `width` columns, at spaces and line ends, or within a word
// that is too long. `width` must be above 1. Returns at least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

std::string pad_right(std::string text, std::size_t width);
std::string pad_left(std::string text, std::size_t width);
// Appends `line` without trailing blanks, and a line end.
void append_line(std::string& out, std::string line);
std::string repeat(std::string_view text, std::size_t times);

// Four significant digits: "313.9 ms", "10.00 us", "2.778 h". Times below 1 us in whole
// nanoseconds.
std::string time_text(Duration d);
std::string count_text(std::uint64_t n);  // "640,000"; "12.35 M" from ten million on
std::string percent_text(double ratio);   // 0.974 → "97 %"; "–" if it isn't finite

}  // namespace troupe
