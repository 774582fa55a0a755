// Opens the modules of Troupe: shared libraries that only some runs need.
#pragma once

#include <string>

namespace troupe {

struct OpenedModule {
  void* entry = nullptr;  // null: see `problem`
  std::string problem;    // of the loader
  bool is_there = true;   // whether there is such a file
};

// Opens `file`, such as "libtroupe_ucx.so", beside the library or program that has Troupe's code,
// else wherever the system looks for libraries, and finds the function `entry` in it. The module
// stays open until the process ends. Blocks while its code and what it needs is loaded.
OpenedModule open_module(const char* file, const char* entry);

}  // namespace troupe
