// What goes to standard error.
#pragma once

#include <cstdio>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace troupe {

// As fmt::print to standard error. Where nobody can hear it (a closed terminal, a full disk) the
// program goes on: its report and its exit code still count.
template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  try {
    fmt::print(stderr, format, std::forward<Args>(args)...);
  } catch (const std::system_error&) {
    std::clearerr(stderr);
  }
}

}  // namespace troupe
