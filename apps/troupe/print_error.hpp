// What goes to standard error.
#pragma once

#include "core/base/text.hpp"

#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace troupe {

// Writes the bytes as they are. Where nobody can hear it (a closed terminal, a full disk) the
// program goes on: its report and its exit code still count.
inline void write_to_terminal(std::string_view bytes) {
  try {
    fmt::print(stderr, "{}", bytes);
    std::fflush(stderr);
  } catch (const std::system_error&) {
    std::clearerr(stderr);
  }
}

// A message of one line, whose end is added; what it quotes may hold anything (see visible()). All
// messages pass here.
template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  write_to_terminal(visible(fmt::format(format, std::forward<Args>(args)...)) + "\n");
}

}  // namespace troupe
