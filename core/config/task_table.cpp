// From the tasks of a run file to the ops of a graph: names, order, sizes.
#include "core/config/task_table.hpp"

#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/config/values.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// An integer attribute of this name counts up from one element of a list to the next, so that the
// elements differ.
constexpr std::string_view counting_attr = "seed";

// A message about a longer cycle leaves names in the middle out.
constexpr std::size_t cycle_names_max = 12;

void read_section(const Node& root, std::string_view name, bool is_tensor, const Machine& machine,
                  const OpRegistry& ops, InputDataTable& inputs, TaskTable& table) {
  const Node* section = find(root, name);
  if (section == nullptr) return;
  expect_map(*section, name);
  for (std::size_t i = 0; i < section->entry_count(); ++i) {
    const Node& key = section->key(i);
    Task task = read_task(key, section->value(i), is_tensor, machine, ops, inputs);
    const auto [earlier, is_new] = table.by_name.emplace(task.name, table.tasks.size());
    if (!is_new) {
      throw usage_error(key.place(),
                        fmt::format("the name '{}' is taken; it is in line {} too", task.name,
                                    table.tasks[earlier->second].key->line),
                        "give each tensor and task a name of its own");
    }
    table.tasks.push_back(std::move(task));
  }
}

// "x.y": further output y of a task x.
std::string output_name(const Task& task, const FurtherOutput& output) {
  return fmt::format("{}.{}", task.name, output.name);
}

void check_output_names(const TaskTable& table, const OpRegistry& ops) {
  for (const Task& task : table.tasks) {
    for (const FurtherOutput& output : ops[task.kind].further_outputs) {
      const auto taken = table.by_name.find(output_name(task, output));
      if (taken == table.by_name.end()) continue;
      throw usage_error(table.tasks[taken->second].key->place(),
                        fmt::format("the name '{}' is taken: it means an output of '{}'",
                                    taken->first, task.name),
                        "rename it");
    }
  }
}

void look_names_up(TaskTable& table, const OpRegistry& ops) {
  for (Task& task : table.tasks) {
    for (TaskInput& input : task.inputs) {
      if (table.look_up(input, ops)) continue;
      throw usage_error(input.node->place(),
                        fmt::format("'{}' reads '{}', which is no tensor or task", task.name,
                                    shortened(input.name)),
                        table.remedy(input, ops));
    }
  }
}

// `path` is a chain of tasks, each of which needs the next; the last one needs the first.
[[noreturn]] void refuse_cycle(const TaskTable& table, std::span<const std::size_t> path,
                               const SourcePlace& place) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (i == cycle_names_max / 2 && path.size() > cycle_names_max) {
      text += "… → ";
      i = path.size() - cycle_names_max / 2;
    }
    text += table.tasks[path[i]].name + " → ";
  }
  throw usage_error(
      place, fmt::format("these tasks need each other: {}{}", text, table.tasks[path.front()].name),
      "a task can't need its own result, not even through others: remove one `in`");
}

// The indices of the tasks: each task after those that it needs, otherwise in the order they are
// written. Searches depth-first, without recursion since chains may be long.
std::vector<std::size_t> topological_order(const TaskTable& table) {
  enum class Mark : std::uint8_t { fresh, on_path, done };
  const std::vector<Task>& tasks = table.tasks;
  std::vector<Mark> marks(tasks.size(), Mark::fresh);
  std::vector<std::size_t> next_input(tasks.size(), 0);
  std::vector<std::size_t> order;
  std::vector<std::size_t> path;
  const auto enter = [&](std::size_t t) {
    marks[t] = Mark::on_path;
    path.push_back(t);
  };
  for (std::size_t start = 0; start < tasks.size(); ++start) {
    if (marks[start] == Mark::fresh) enter(start);
    while (!path.empty()) {
      const std::size_t t = path.back();
      if (next_input[t] == tasks[t].inputs.size()) {
        marks[t] = Mark::done;
        order.push_back(t);
        path.pop_back();
        continue;
      }
      const TaskInput& input = tasks[t].inputs[next_input[t]++];
      if (marks[input.task] == Mark::fresh) {
        enter(input.task);
      } else if (marks[input.task] == Mark::on_path) {
        const auto first = std::find(path.begin(), path.end(), input.task);
        refuse_cycle(table, {first, path.end()}, input.node->place());
      }
    }
  }
  return order;
}

// Sets count and is_list from `repeat`, the pattern, and count and is_list of the inputs, which
// must be set.
void set_count(const TaskTable& table, Task& task) {
  task.count = task.repeat.value_or(1);
  task.is_list = task.repeat.has_value();
  if (task.pattern) {
    task.count = static_cast<std::uint32_t>(task.pattern->points());
    task.is_list = true;
  }
  std::string decided_by = "its repeat";
  for (const TaskInput& input : task.inputs) {
    const Task& source = table.tasks[input.task];
    check_element(source, input);
    if (!input.element && !input.is_all && source.is_list) {
      if (task.is_list && task.count != source.count) {
        throw usage_error(
            input.node->place(),
            fmt::format("'{}' is a list of {} by {}, but '{}' is a list of {}", task.name,
                        task.count, decided_by, source.name, source.count),
            "lists are combined element by element: make them equally long, or name one element "
            "as in \"run[3]\", or all as inputs of one op as in \"run[*]\"");
      }
      task.count = source.count;
      task.is_list = true;
      decided_by = fmt::format("its input '{}'", source.name);
    }
  }
  if (task.devices.size() > task.count) {
    throw usage_error(find(*task.body, "on")->place(),
                      fmt::format("'{}' is {}, but `on` lists {} devices", task.name,
                                  format_count(task.count, "op"), task.devices.size()),
                      "list at most as many devices as there are ops");
  }
}

// The inputs, at most, that each op has by a pattern or by [*].
std::int64_t inputs_of_lists(const TaskTable& table, const Task& task) {
  if (task.pattern) return task.pattern->inputs_max();
  std::int64_t inputs = 0;
  for (const TaskInput& input : task.inputs) {
    if (input.is_all) inputs += table.tasks[input.task].count;
  }
  return inputs;
}

// The first value of the attribute that counts up; nullopt if there is none.
std::optional<std::int64_t> find_counting_attr(const Task& task, const OpKind& kind) {
  for (const AttrSpec& spec : kind.attrs) {
    if (spec.name != counting_attr) continue;
    const auto* const start = std::get_if<std::int64_t>(task.attrs.find(spec.name));
    if (start == nullptr) continue;
    if (*start > spec.value_max - (task.count - 1)) {
      const Node* const node = find(*task.body, spec.name);
      throw usage_error(
          (node != nullptr ? node : task.key)->place(),
          fmt::format("{} of '{}' counts up beyond {}", spec.name, task.name, spec.value_max),
          "start lower");
    }
    return *start;
  }
  return {};
}

void append_ops(const TaskTable& table, Task& task, Graph& graph) {
  const OpKind& kind = graph.kinds()[task.kind];
  const std::optional<std::int64_t> counting = find_counting_attr(task, kind);
  task.group = graph.begin_group(task.name, task.is_list, task.key->place());
  std::vector<OpId> inputs;
  OpSpec op{.kind = task.kind,
            .placement = {.memory = task.to},
            .attrs = task.attrs,
            .declared = task.declared};
  for (std::uint32_t i = 0; i < task.count; ++i) {
    inputs.clear();
    for (const TaskInput& input : task.inputs) {
      const Task& source = table.tasks[input.task];
      const std::uint32_t first = input.is_all ? 0 : input.element.value_or(source.is_list ? i : 0);
      const std::uint32_t end = input.is_all ? source.count : first + 1;
      for (std::uint32_t element = first; element < end; ++element) {
        inputs.push_back(graph.op_in_group(source.group, element, input.output));
      }
    }
    op.inputs = inputs;
    if (!task.devices.empty()) {
      op.placement.device = task.devices[block_of(i, task.count, task.devices.size())];
    }
    if (counting) op.attrs.set(counting_attr, *counting + i);
    try {
      graph.append(op);
    } catch (const Error& error) {
      // The graph knows only the place of the task. Its inputs are what is wrong: point there.
      const Node* in = find(*task.body, "in");
      const std::string name = task.is_list ? fmt::format("{}[{}]", task.name, i) : task.name;
      throw usage_error((in != nullptr ? in : find(*task.body, "op"))->place(),
                        fmt::format("'{}': {}", name, error.problem()), error.remedy());
    }
  }
}

}  // namespace

void check_element(const Task& source, const TaskInput& input) {
  if (!input.element && !input.is_all) return;
  if (!source.is_list) {
    throw usage_error(input.node->place(),
                      fmt::format("'{}' is a single tensor, not a list", source.name),
                      fmt::format("write '{}'", source.name));
  }
  if (input.element && *input.element >= source.count) {
    throw usage_error(input.node->place(),
                      fmt::format("'{}' has no element {}", source.name, *input.element),
                      fmt::format("its elements are 0 to {}", source.count - 1));
  }
}

bool TaskTable::look_up(TaskInput& input, const OpRegistry& ops) const {
  auto found = by_name.find(input.name);
  if (found == by_name.end()) {
    const std::size_t dot = input.name.rfind('.');
    if (dot != std::string::npos) found = by_name.find(input.name.substr(0, dot));
    if (found == by_name.end()) return false;
    const auto& outputs = ops[tasks[found->second].kind].further_outputs;
    const auto named = std::find_if(outputs.begin(), outputs.end(), [&](const FurtherOutput& o) {
      return o.name == std::string_view(input.name).substr(dot + 1);
    });
    if (named == outputs.end()) return false;
    input.output = static_cast<std::uint32_t>(named - outputs.begin()) + 1;
  }
  input.task = found->second;
  return true;
}

std::string TaskTable::remedy(const TaskInput& input, const OpRegistry& ops) const {
  std::vector<std::string> names;
  for (const Task& task : tasks) {
    names.push_back(task.name);
    for (const FurtherOutput& output : ops[task.kind].further_outputs) {
      names.push_back(output_name(task, output));
    }
  }
  return suggestion(input.name, std::vector<std::string_view>(names.begin(), names.end()));
}

TaskTable read_tasks(const Node& root, const Machine& machine, Graph& graph,
                     InputDataTable& inputs) {
  TaskTable table;
  read_section(root, "tensors", true, machine, graph.kinds(), inputs, table);
  read_section(root, "tasks", false, machine, graph.kinds(), inputs, table);
  check_output_names(table, graph.kinds());
  look_names_up(table, graph.kinds());
  const std::vector<std::size_t> order = topological_order(table);

  std::int64_t ops = 0;
  std::int64_t reads = 0;
  for (const std::size_t t : order) {
    Task& task = table.tasks[t];
    set_count(table, task);
    ops += std::int64_t{task.count} *
           static_cast<std::int64_t>(1 + graph.kinds()[task.kind].further_outputs.size());
    if (ops > ops_max) {
      throw usage_error(task.key->place(),
                        fmt::format("with '{}' the file has {} ops", task.name, ops),
                        fmt::format("the limit is {}", ops_max));
    }
    reads += std::int64_t{task.count} * inputs_of_lists(table, task);
    if (reads > inputs_max) {
      throw usage_error(
          task.key->place(),
          fmt::format("with '{}' patterns and [*] give the ops of the file up to {} inputs",
                      task.name, reads),
          fmt::format("the limit is {}", inputs_max));
    }
  }
  for (const std::size_t t : order) {
    Task& task = table.tasks[t];
    if (task.pattern) {
      const PatternOps grid{.kernel = task.kind, .attrs = task.attrs, .devices = task.devices};
      task.group = append_pattern(graph, *task.pattern, grid, task.name, task.key->place());
    } else {
      append_ops(table, task, graph);
    }
  }
  return table;
}

}  // namespace troupe
