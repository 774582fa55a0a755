// The tasks of a run file, and their ops in its graph.
#pragma once

#include "core/config/task.hpp"
#include "core/graph/graph.hpp"

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

struct TaskTable {
  std::vector<Task> tasks;                               // in the order they are written
  std::unordered_map<std::string, std::size_t> by_name;  // into tasks

  // Finds the task that `input` means. Returns false if there is none.
  bool look_up(TaskInput& input, const OpRegistry& ops) const;
  // What to do about a name that look_up() hasn't found.
  std::string remedy(const TaskInput& input, const OpRegistry& ops) const;
};

// Reads `tensors` and `tasks` of a run file and appends their ops to the graph: each task after
// those that it needs, otherwise in the order they are written. Throws a usage Error.
TaskTable read_tasks(const Node& root, const Machine& machine, Graph& graph,
                     InputDataTable& inputs);

// Throws a usage Error unless `source` has the element that `input` names, if it names one. Its
// count must have been set.
void check_element(const Task& source, const TaskInput& input);

}  // namespace troupe
