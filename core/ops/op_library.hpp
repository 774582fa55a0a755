// Op kinds in a shared library, which a program loads by name. Such a library is one file:
//
//   #include <troupe/troupe.hpp>
//   TROUPE_OPS(registry) {
//     registry.add({.name = "clamp", …});
//   }
//
// In CMake: add_library(mine MODULE …), and target_link_libraries(mine PRIVATE troupe::troupe).
// Then: troupe run FILE --ops libmine.so
#pragma once

#include "core/base/version.hpp"
#include "core/ops/registry.hpp"

#include <filesystem>

namespace troupe {

// What a library of op kinds exports, as `troupe_op_library`. `version` comes first whatever the
// version is.
struct OpLibrary {
  const char* version;  // of the headers that it was compiled with
  void (*add)(OpRegistry&);
};

// Loads the library and adds its op kinds to the registry. The library stays loaded until the
// program ends. Call it only for a library that the user names: loading one runs its code. Throws a
// usage Error if it is no file or no such library, was built for another version of Troupe, or has
// an op kind whose name is taken.
void load_op_library(const std::filesystem::path& library, OpRegistry& registry);

}  // namespace troupe

// Names the exported symbol and fills in the version. A function's argument can't stand in
// parentheses.
// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
#define TROUPE_OPS(registry)                                                            \
  static void troupe_add_ops(troupe::OpRegistry&);                                      \
  extern "C" {                                                                          \
  [[gnu::visibility("default")]] extern const troupe::OpLibrary troupe_op_library;      \
  const troupe::OpLibrary troupe_op_library = {troupe::version.data(), troupe_add_ops}; \
  }                                                                                     \
  static void troupe_add_ops(troupe::OpRegistry& registry)
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
