// A task of a run file: an op, a list of equal ops, or a pattern. The format is documented in
// docs/run_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/config/input_data.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"
#include "core/patterns/patterns.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// Limits, so that products don't overflow and a mistyped number doesn't fill the memory.
constexpr std::int64_t repeat_max = 1'000'000;
constexpr std::int64_t ops_max = Pattern::points_max;  // of a run file, as of one pattern
constexpr std::int64_t inputs_max =
    Pattern::dependences_max;  // of all patterns and [*] of a run file

// "x", or one element of it: "x[3]", or all of them as inputs one after the other: "x[*]"; or their
// further output y: "x.y", "x.y[3]", "x.y[*]".
struct TaskInput {
  std::string name;  // "x" or "x.y"
  std::optional<std::uint32_t> element;
  bool is_all = false;
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

// Reads "x", "x[3]" or "x[*]"; `what` as in "in of 'y'". The name is not looked up. Throws a usage
// Error.
TaskInput read_task_input(const Node& node, const std::string& what);

// Reads one entry of `tensors` or `tasks`. The names in `in` are not looked up yet. The task points
// to the nodes, which must outlive it. Files of tensors are opened in `inputs`. Throws a usage
// Error.
Task read_task(const Node& key, const Node& body, bool is_tensor, const Machine& machine,
               const OpRegistry& ops, InputDataTable& inputs);

}  // namespace troupe
