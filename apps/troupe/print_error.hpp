// Writes messages to standard error.
#pragma once

#include "core/base/text.hpp"

#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace troupe {

// Writes the bytes as they are. If they can't be written (a closed terminal, a full disk), does
// nothing: the program goes on, since its report and its exit code still count.
inline void write_to_terminal(std::string_view bytes) {
  try {
    fmt::print(stderr, "{}", bytes);
    std::fflush(stderr);
  } catch (const std::system_error&) {
    std::clearerr(stderr);
  }
}

// Writes a message and a line end. The message may quote any bytes: visible() escapes control
// characters. All messages of the program are written by this function.
template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  write_to_terminal(visible(fmt::format(format, std::forward<Args>(args)...)) + "\n");
}

}  // namespace troupe
