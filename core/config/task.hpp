// A task of a run file: an op, a list of equal ops, or a pattern. The format is documented in
// docs/run_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/config/input_data.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"
#include "core/patterns/patterns.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

// Limits, so that products don't overflow and a mistyped number doesn't fill the memory.
constexpr std::int64_t repeat_max = 1'000'000;
constexpr std::int64_t ops_max = Pattern::points_max;          // of a run file, as of one pattern
constexpr std::int64_t inputs_max = Pattern::dependences_max;  // of all patterns of a run file

// "x", or one element of it: "x[3]"; or their further output y: "x.y", "x.y[3]".
struct TaskInput {
  std::string name;  // "x" or "x.y"
  std::optional<std::uint32_t> element;
  const Node* node = nullptr;
  // Set by TaskTable::look_up().
  std::size_t task = 0;      // its index in TaskTable::tasks
  std::uint32_t output = 0;  // k: the op's k-th further output
};

struct Task {
  std::string name;
  const Node* key = nullptr;
  const Node* body = nullptr;
  bool is_tensor = false;  // written under `tensors`

  OpKindId kind = {};
  Attrs attrs = {};
  TensorType declared = {};
  std::vector<TaskInput> inputs = {};
  std::vector<DeviceId> devices = {};  // each gets a block of the ops; empty: planner's choice
  MemoryId to = {};                    // where a copy ends
  std::optional<std::uint32_t> repeat = {};
  std::optional<Pattern> pattern = {};

  // Set when the task is appended to the graph.
  GroupId group = {};
  std::uint32_t count = 0;
  bool is_list = false;
};

// The kinds that a task may have as its `op`: not those whose values can't be written in a run
// file.
std::vector<std::string_view> task_kinds(const OpRegistry& ops);

// Reads "x" or "x[3]"; `what` as in "in of 'y'". The name is not looked up. Throws a usage Error.
TaskInput read_task_input(const Node& node, const std::string& what);
// Throws a usage Error unless `source` has the element that `input` names, if it names one. Its
// count must have been set.
void check_element(const Task& source, const TaskInput& input);

// Reads one entry of `tensors` or `tasks`. The names in `in` are not looked up yet. The task points
// to the nodes, which must outlive it. Files of tensors are opened in `inputs`. Throws a usage
// Error.
Task read_task(const Node& key, const Node& body, bool is_tensor, const Machine& machine,
               const OpRegistry& ops, InputDataTable& inputs);

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

}  // namespace troupe
