#include "core/config/scenarios.hpp"

#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/config/values.hpp"

#include <string>
#include <unordered_map>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::string_view wait_step = "wait";

// The step of a scenario that starts a task.
struct Listed {
  std::size_t waits_before = 0;
  const Node* node = nullptr;  // that names the task
};
using ListedTasks = std::unordered_map<std::size_t, Listed>;

// Refuses a scenario that can't be carried out in the order it is written: a task needs another one
// that is listed after a later wait; or a task isn't listed, so that it would be prepared before
// the clock starts, but needs one that is listed.
class NeedsCheck {
 public:
  NeedsCheck(const TaskTable& table, const ListedTasks& listed) : table_(table), listed_(listed) {}

  void check(std::size_t task) {
    const Listed& step = listed_.at(task);
    for (const TaskInput& input : table_.tasks[task].inputs) {
      const auto needed = listed_.find(input.task);
      if (needed == listed_.end()) {
        check_unlisted(input.task, *step.node);
      } else if (needed->second.waits_before > step.waits_before) {
        throw usage_error(step.node->place(),
                          fmt::format("'{}' needs '{}', which this scenario lists only after a "
                                      "later wait",
                                      table_.tasks[task].name, input.name),
                          fmt::format("list '{}' before it", input.name));
      }
    }
  }

 private:
  void check_unlisted(std::size_t task, const Node& step) {
    if (!seen_.emplace(task, true).second) return;
    std::vector<std::size_t> pending = {task};
    while (!pending.empty()) {
      const Task& prepared = table_.tasks[pending.back()];
      pending.pop_back();
      for (const TaskInput& input : prepared.inputs) {
        if (listed_.contains(input.task)) {
          throw usage_error(
              step.place(),
              fmt::format("'{}' needs '{}', which isn't listed and so would be prepared before the "
                          "clock starts, but needs '{}', which is listed",
                          step.text, prepared.name, input.name),
              prepared.is_tensor
                  ? fmt::format("move '{}' from tensors to tasks, and list it", prepared.name)
                  : fmt::format("list '{}' too", prepared.name));
        }
        if (seen_.emplace(input.task, true).second) pending.push_back(input.task);
      }
    }
  }

  const TaskTable& table_;
  const ListedTasks& listed_;
  std::unordered_map<std::size_t, bool> seen_;  // tasks that are not listed
};

std::size_t find_task(const Node& node, std::string_view scenario, const TaskTable& table) {
  const std::string name =
      read_string(node, fmt::format("a step of scenario '{}'", shortened(scenario)),
                  "the name of a task, or wait");
  const auto found = table.by_name.find(name);
  if (found == table.by_name.end()) {
    std::vector<std::string_view> names = {wait_step};
    for (const Task& task : table.tasks) {
      if (!task.is_tensor) names.push_back(task.name);
    }
    throw usage_error(node.place(), fmt::format("there is no task '{}'", shortened(name)),
                      suggestion(name, names));
  }
  if (table.tasks[found->second].is_tensor) {
    throw usage_error(node.place(), fmt::format("'{}' is a tensor, not a task", name),
                      "tensors are prepared before the clock starts: remove the step, or move it "
                      "from tensors to tasks");
  }
  return found->second;
}

Scenario read_scenario(const Node& key, const Node& list, const TaskTable& table) {
  if (key.text.empty() || key.text.find_first_of("\t\r\n") != std::string::npos) {
    throw usage_error(key.place(), "a scenario's name must be one line of text", "rename it");
  }
  Scenario scenario{.name = key.text, .steps = {}, .place = key.place()};
  ListedTasks listed;
  std::vector<std::size_t> in_order;
  std::size_t waits = 0;
  expect_list(list, fmt::format("scenario '{}'", shortened(key.text)));
  for (const Node& node : list.children) {
    if (node.type == Node::Type::scalar && node.text == wait_step) {
      ++waits;
      scenario.steps.push_back(Step{.group = {}, .place = node.place()});
      continue;
    }
    const std::size_t task = find_task(node, key.text, table);
    const auto [earlier, is_new] =
        listed.emplace(task, Listed{.waits_before = waits, .node = &node});
    if (!is_new) {
      throw usage_error(
          node.place(),
          fmt::format("'{}' is listed twice; the first is in line {}, column {}", node.text,
                      earlier->second.node->line, earlier->second.node->column),
          "remove one: a task runs once in a scenario; `repeat` makes more of it");
    }
    in_order.push_back(task);
    scenario.steps.push_back(Step{.group = table.tasks[task].group, .place = node.place()});
  }
  if (in_order.empty()) {
    throw usage_error(list.place(), fmt::format("scenario '{}' lists no task", shortened(key.text)),
                      "list tasks and waits, as in [run, wait, copy, wait]");
  }
  NeedsCheck needs(table, listed);
  for (const std::size_t task : in_order) needs.check(task);
  return scenario;
}

// The scenario of a file that has none.
Scenario scenario_of_all(const Node& root, const TaskTable& table) {
  Scenario all{.name = "all", .steps = {}, .place = root.place()};
  ListedTasks listed;
  for (std::size_t i = 0; i < table.tasks.size(); ++i) {
    const Task& task = table.tasks[i];
    if (task.is_tensor) continue;
    listed.emplace(i, Listed{.waits_before = 0, .node = task.key});
    all.steps.push_back(Step{.group = task.group, .place = task.key->place()});
  }
  NeedsCheck needs(table, listed);
  for (std::size_t i = 0; i < table.tasks.size(); ++i) {
    if (listed.contains(i)) needs.check(i);
  }
  all.steps.push_back(Step{.group = {}, .place = root.place()});
  return all;
}

}  // namespace

std::vector<Scenario> read_scenarios(const Node& root, const TaskTable& table) {
  const Node* section = find(root, "scenarios");
  if (section == nullptr) return {scenario_of_all(root, table)};
  expect_map(*section, "scenarios");
  if (section->entry_count() == 0) {
    throw usage_error(section->place(), "there are no scenarios",
                      "name one, as in `all: [run, wait]`, or remove `scenarios`");
  }
  std::vector<Scenario> scenarios;
  for (std::size_t i = 0; i < section->entry_count(); ++i) {
    scenarios.push_back(read_scenario(section->key(i), section->value(i), table));
  }
  return scenarios;
}

}  // namespace troupe
