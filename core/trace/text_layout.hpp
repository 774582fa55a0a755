// Laying out plain text: widths as a terminal shows them, shortening, wrapping, numbers to read.
#pragma once

#include "core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// No line of a report is wider.
constexpr std::size_t page_width = 100;

// `text` as valid UTF-8 without control characters: they become spaces, bad bytes U+FFFD. What the
// functions below take must have gone through it, except where they say otherwise.
std::string printable(std::string_view text);

// Columns that `text` takes on a terminal: 0 for combining marks, 2 for East Asian wide characters
// and emoji.
std::size_t display_width(std::string_view text);

// `text` in at most `width` columns; what doesn't fit is cut from the middle, with "…" in its
// place.
std::string shorten(std::string_view text, std::size_t width);

// Any text in lines of at most `width` (> 1) columns, broken at spaces and line ends, or within a
// word that is too long. At least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

std::string pad_right(std::string text, std::size_t width);
std::string pad_left(std::string text, std::size_t width);
// Adds `line`, without blanks at its end, and a line end.
void append_line(std::string& out, std::string line);
std::string repeat(std::string_view text, std::size_t times);

// Four significant digits: "313.9 ms", "10.00 us", "2.778 h". Below 1 us whole nanoseconds.
std::string time_text(Duration d);
std::string count_text(std::uint64_t n);  // "640,000"; from ten million on "12.35 M"
std::string percent_text(double ratio);   // 0.974 → "97 %"; "–" where it isn't finite

}  // namespace troupe
