// How deeply the brackets of a YAML text are nested. yaml-cpp keeps every token from the first open
// bracket on in memory until that bracket closes, before it reports any of them: 235 bytes for each
// byte of "[[[[…". So brackets are counted before yaml-cpp reads the text.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace troupe {

// A byte of a text; line and column count from 1.
struct TextPlace {
  std::size_t offset = 0;
  int line = 1;
  int column = 1;
};

// The place of the first bracket, [ or {, that opens while `levels_max` others are open; nullopt if
// there is none. Brackets in quotes, in comments, in block scalars (|, >) and within plain words
// don't count. Takes linear time and constant memory.
std::optional<TextPlace> find_bracket_too_deep(std::string_view text, std::size_t levels_max);

}  // namespace troupe
