// The scenarios of a run file. The format is documented in docs/run_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/config/task_table.hpp"
#include "core/graph/scenario.hpp"

#include <vector>

namespace troupe {

// Reads `scenarios` of a run file. A file without them gets one scenario, with all tasks in the
// order they are written. Throws a usage Error, also if no order of execution satisfies the waits.
std::vector<Scenario> read_scenarios(const Node& root, const TaskTable& table);

}  // namespace troupe
