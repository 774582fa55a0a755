#include "core/trace/text_layout.hpp"

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cwchar>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0 if the bytes aren't UTF-8
};

CodePoint decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + bytes > text.size()) return {};
  char32_t value = lead & (0x7FU >> bytes);
  for (std::size_t i = at + 1; i < at + bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> value_min{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < value_min[bytes] || value > 0x10FFFF || surrogate) return {};
  return {value, bytes};
}

// As many columns as terminals give it, by the C library's table, whatever the program's locale is.
std::size_t columns(char32_t c) {
  if (c < 0x300) return 1;
  static const locale_t with_unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (with_unicode == nullptr) return 1;
  const locale_t before = uselocale(with_unicode);
  const int width = wcwidth(static_cast<wchar_t>(c));
  uselocale(before);
  return width < 0 ? 1 : static_cast<std::size_t>(width);  // -1: it isn't assigned
}

// The end of the longest part of `text` that starts at `from` and is at most `width` columns wide.
std::size_t fitting_end(std::string_view text, std::size_t from, std::size_t width) {
  std::size_t used = 0;
  std::size_t at = from;
  while (at < text.size()) {
    const CodePoint c = decode(text, at);
    used += columns(c.value);
    if (used > width) break;
    at += std::max<std::size_t>(c.bytes, 1);
  }
  return at;
}

void wrap_line(std::string_view text, std::size_t width, std::vector<std::string>& lines) {
  std::string line;
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, space - at);
    at = space + 1;
    if (word.empty()) continue;
    std::size_t word_width = display_width(word);
    if (used > 0 && used + 1 + word_width > width) {
      lines.push_back(std::exchange(line, {}));
      used = 0;
    }
    while (word_width > width) {
      const std::size_t end = std::max<std::size_t>(fitting_end(word, 0, width), 1);
      lines.emplace_back(word.substr(0, end));
      word_width -= display_width(lines.back());  // not of the rest, which may be long
      word.remove_prefix(end);
    }
    if (used > 0) line += ' ', ++used;
    line += word;
    used += word_width;
  }
  if (!line.empty()) lines.push_back(std::move(line));
}

// Formats `ns` in units of `unit_ns`, to four significant digits. Returns false if the result
// rounds to 1000 units or more, so that a larger unit is better; with `last` it returns true even
// then.
bool format_in_unit(std::uint64_t ns, std::uint64_t unit_ns, bool last, std::string& out) {
  std::uint64_t step = unit_ns / 1000;  // of the last digit shown
  int decimals = 3;
  while (decimals > 0 && (ns + step / 2) / step >= 10'000) {
    step *= 10;
    --decimals;
  }
  const std::uint64_t digits = (ns + step / 2) / step;
  if (!last && decimals == 0 && digits >= 1000) return false;
  const std::uint64_t one = unit_ns / step;
  out = count_text(digits / one);
  if (decimals > 0) out += fmt::format(".{:0{}}", digits % one, decimals);
  return true;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    if (c.bytes == 0) {
      out += replacement;
      ++at;
      continue;
    }
    const bool control = c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0) ||
                         (c.value >= 0x2028 && c.value <= 0x202E) || c.value == 0x061C ||
                         c.value == 0x200E || c.value == 0x200F ||
                         (c.value >= 0x2066 && c.value <= 0x2069);
    if (control) {
      out += ' ';
    } else {
      out += text.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    width += columns(c.value);
    at += std::max<std::size_t>(c.bytes, 1);
  }
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  const std::size_t full = display_width(text);
  if (full <= width) return std::string(text);
  if (width == 0) return {};
  const std::size_t head_end = fitting_end(text, 0, width / 2);
  // The tail: removes characters from the front until the rest fits.
  const std::size_t tail_width = width - 1 - width / 2;
  std::size_t tail = head_end;
  std::size_t left = full - display_width(text.substr(0, head_end));
  while (left > tail_width) {
    const CodePoint c = decode(text, tail);
    left -= columns(c.value);
    tail += std::max<std::size_t>(c.bytes, 1);
  }
  return std::string(text.substr(0, head_end)) + "…" + std::string(text.substr(tail));
}

std::size_t name_columns(const std::vector<std::string>& names, std::size_t usual_max,
                         std::size_t width_max) {
  std::size_t widest = 0;
  for (const std::string& name : names) widest = std::max(widest, display_width(name));
  const std::size_t different = std::set<std::string>(names.begin(), names.end()).size();
  std::size_t width = std::min(widest, usual_max);
  for (const std::size_t end = std::min(widest, width_max); width < end; ++width) {
    std::set<std::string> shown;
    for (const std::string& name : names) shown.insert(shorten(name, width));
    if (shown.size() == different) break;
  }
  return width;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    wrap_line(printable(text.substr(0, end)), width, lines);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::string pad_right(std::string text, std::size_t width) {
  const std::size_t used = display_width(text);
  if (used < width) text.append(width - used, ' ');
  return text;
}

std::string pad_left(std::string text, std::size_t width) {
  const std::size_t used = display_width(text);
  if (used < width) text.insert(0, width - used, ' ');
  return text;
}

void append_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string time_text(Duration d) {
  const bool negative = d.count() < 0;
  const auto count = static_cast<std::uint64_t>(d.count());
  const std::uint64_t ns = negative ? 0 - count : count;
  const std::string sign = negative ? "-" : "";
  if (ns < 1000) return fmt::format("{}{} ns", sign, ns);
  std::string text;
  if (format_in_unit(ns, 1'000, false, text)) return sign + text + " us";
  if (format_in_unit(ns, 1'000'000, false, text)) return sign + text + " ms";
  // Seconds up to 9999, and hours likewise: easier to compare than the next larger unit.
  if (ns < 9'999'500'000'000 && format_in_unit(ns, 1'000'000'000, true, text)) {
    return sign + text + " s";
  }
  if (ns < 9'999'500 * 3'600'000'000ULL && format_in_unit(ns, 3'600'000'000'000, true, text)) {
    return sign + text + " h";
  }
  format_in_unit(ns, 31'557'600'000'000'000, true, text);  // a Julian year
  return sign + text + " y";
}

std::string count_text(std::uint64_t n) {
  if (n >= 10'000'000) {
    constexpr std::string_view prefixes = "kMGTPE";
    std::size_t prefix = 1;
    double scaled = static_cast<double>(n) / 1e6;
    while (scaled >= 999.95) {
      scaled /= 1000;
      ++prefix;
    }
    return fmt::format("{:.4g} {}", scaled, prefixes[prefix]);
  }
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string percent_text(double ratio) {
  if (!std::isfinite(ratio)) return "–";
  return fmt::format("{:.0f} %", std::clamp(ratio, 0.0, 9.99) * 100);
}

}  // namespace troupe
