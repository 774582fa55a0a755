// Raw text from users: is it text at all, and how to quote it in a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

// Throws a usage Error at the first byte that is not UTF-8, and at control characters other than
// tab and line ends. `file` is for the error's place.
void check_text(std::string_view text, const std::string& file);

// Control characters other than tab and line ends, which may come out of escapes ("\x1b").
bool has_control_characters(std::string_view text);

// False where a quote opens at `begin` and the text ends before it closes.
bool quotes_close(std::string_view text, std::size_t begin);

// `text` in one line, for a terminal: control characters (C0, DEL, C1) and bytes that are not UTF-8
// are escaped ("\n", "\x1b", "\u009b"). All else, backslashes too, stays: twice changes nothing.
std::string visible(std::string_view text);

// Without the blanks at its ends.
std::string_view trimmed(std::string_view text);

// Whether `name` matches [A-Za-z_][A-Za-z0-9_.-]*.
bool is_identifier(std::string_view name);

// For messages: at most 60 bytes, cut between characters.
std::string shortened(std::string_view text);

}  // namespace troupe
