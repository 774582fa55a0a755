#include "core/base/text.hpp"

#include "core/base/error.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace troupe {
namespace {

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// The length of the UTF-8 character at the start of `text`; 0 if there is none. Refuses overlong
// forms, surrogates and everything beyond U+10FFFF (RFC 3629, section 4).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length),
                   is_continuation)) {
    return 0;
  }
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
  if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

}  // namespace

void check_text(std::string_view text, const std::string& file) {
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text.substr(i));
    if (length == 0 || is_control(text[i])) {
      throw usage_error(
          SourcePlace{file, line, static_cast<int>(i - line_start) + 1},
          length == 0 ? "the file is not UTF-8 text" : "control characters are not supported",
          length == 0 ? "save it in UTF-8" : "remove them");
    }
    if (text[i] == '\n') {
      ++line;
      line_start = i + 1;
    }
    i += length;
  }
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

bool quotes_close(std::string_view text, std::size_t begin) {
  if (begin >= text.size() || (text[begin] != '"' && text[begin] != '\'')) return true;
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;  // whatever is escaped, it closes nothing
    } else if (text[i] == quote) {
      const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return true;
      ++i;
    }
  }
  return false;
}

std::string visible(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = character_length(text.substr(i));
    if (text[i] == '\n') {
      result += "\\n";
    } else if (text[i] == '\r') {
      result += "\\r";
    } else if (text[i] == '\t') {
      result += "\\t";
    } else if (length == 0 || is_control(text[i])) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[i + 1]));
    } else {
      result += text.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::string shortened(std::string_view text) {
  constexpr std::size_t bytes_max = 60;
  if (text.size() <= bytes_max) return std::string(text);
  std::size_t end = bytes_max;
  while (end > 0 && is_continuation(text[end])) --end;
  return std::string(text.substr(0, end)) + "…";
}

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  const auto later = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
  };
  return !name.empty() && letter(name.front()) && std::all_of(name.begin() + 1, name.end(), later);
}

}  // namespace troupe
