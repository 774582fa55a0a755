// What is said of a command line that can't be understood.
#pragma once

#include <CLI/CLI.hpp>

namespace troupe {

// Prints a line that says what is wrong. Returns the exit code.
int refuse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace troupe
