// The line of a program that makes a call.
#pragma once

#include "core/base/error.hpp"

namespace troupe {

// As the default of a parameter, here() is the caller's line. Like std::source_location, which
// clang 14 doesn't know, and with it clang-tidy.
struct CallSite {
  const char* file = "";
  int line = 0;

  static constexpr CallSite here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  SourcePlace place() const { return {.file = file, .line = line, .column = 0}; }
  friend bool operator==(const CallSite&, const CallSite&) = default;
};

}  // namespace troupe
