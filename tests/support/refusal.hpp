// What bad input must give: one line on standard error, exit code 2, and nothing else changed.
#pragma once

#include "tests/support/workspace.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

// Checks that the program refuses these arguments: with one line that begins with "troupe: " and
// `start`, then says what is wrong and what to do and has each of `words` in it; and that nothing
// in the workspace changes.
void check_refused(const Workspace& workspace, const std::vector<std::string>& arguments,
                   std::string_view start, const std::vector<std::string>& words);

// Checks that each of `commands` (simulate, run, validate) refuses a file of this text. A '^' in
// it, which is taken out, marks where the message must say that the problem is.
void check_file_refused(const std::vector<std::string>& commands, std::string_view marked_text,
                        const std::vector<std::string>& words);

// The text of a run file with these tasks, on a machine of two CPU devices: cpu0 with memory host,
// cpu1 with memory far, joined by link wire, and memory island that no link reaches. A line of
// `machine_part` replaces the machine's own for the same name.
std::string with_tasks(std::string_view tasks, std::string_view machine_part = "");

inline const std::vector<std::string> both_modes = {"simulate", "run"};

}  // namespace troupe::testing
