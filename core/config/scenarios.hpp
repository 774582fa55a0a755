// The scenarios of a run file. The format is documented at the top of run_file.cpp.
#pragma once

#include "core/config/document.hpp"
#include "core/config/task.hpp"
#include "core/graph/scenario.hpp"

#include <vector>

namespace troupe {

// Reads `scenarios` of a run file, or makes the one it gets without: all tasks, as written. Throws
// a usage Error, also where no order of execution could satisfy the waits.
std::vector<Scenario> read_scenarios(const Node& root, const TaskTable& table);

}  // namespace troupe
