// Checks the handling of bad input: one line on standard error, exit code 2, and no file changed.
#pragma once

#include "tests/support/workspace.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

// Checks that the program refuses these arguments. The message must be one line that begins with
// "troupe: " and `start`, gives problem and remedy, and contains each of `words`. No file in the
// workspace may change.
void check_refused(const Workspace& workspace, const std::vector<std::string>& arguments,
                   std::string_view start, const std::vector<std::string>& words);

// Checks that each of `commands` (simulate, run, validate) refuses a file of this text. A '^' in
// the text marks the place that the message must name. It is removed before the file is written.
void check_file_refused(const std::vector<std::string>& commands, std::string_view marked_text,
                        const std::vector<std::string>& words);

// The same for `simulate` alone, where the file is refused while it is read: all commands read
// files by the same code.
void check_file_refused(std::string_view marked_text, const std::vector<std::string>& words);

// The text of a run file with these tasks, on a machine of two CPU devices: cpu0 with memory host,
// cpu1 with memory far, connected by link wire, and memory island without a link. A line of
// `machine_part` replaces the line of the machine with the same name.
std::string with_tasks(std::string_view tasks, std::string_view machine_part = "");

inline const std::vector<std::string> both_modes = {"simulate", "run"};

}  // namespace troupe::testing
