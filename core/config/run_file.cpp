// The format is documented in docs/run_files.md.
#include "core/config/run_file.hpp"

#include "core/base/units.hpp"
#include "core/config/file_kind.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/machine_parts.hpp"
#include "core/config/saves.hpp"
#include "core/config/scenarios.hpp"
#include "core/config/task_table.hpp"
#include "core/config/values.hpp"
#include "core/files/data_file.hpp"
#include "core/machine/fit.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Where the machine file is that a run file names.
std::filesystem::path machine_path(const Node& node, const std::filesystem::path& run_path) {
  return (run_path.parent_path() /
          read_string(node, "the machine",
                      "`local`, the path of a machine file, or a map with devices"))
      .lexically_normal();
}

// Returns what holds for a run on this host only: see settings_of_one_host().
std::string read_machine_of_run(const Node& node, const std::filesystem::path& run_path,
                                const FindGpus& find_gpus, RunFile& run) {
  if (node.type == Node::Type::map) {
    run.machine = read_machine(node, run_path.stem().string(), run.graph.kinds(), find_gpus);
    return settings_of_one_host(node);
  }
  if (is_this_host(node)) {
    run.machine = read_this_host(node);
    return {};
  }
  const std::filesystem::path path = machine_path(node, run_path);
  const Document document = Document::load(path, node.place());
  run.machine = read_machine_file(document, run.graph.kinds(), find_gpus);
  run.machine_file = path;
  return settings_of_one_host(document.root());
}

void use_nodes(const Machine& nodes, const SourcePlace& place, const std::string& of_one_host,
               RunFile& run) {
  if (run.machine.nodes.empty()) {
    if (!of_one_host.empty()) {
      run.notes.push_back(
          fmt::format("Not used: {}, as the machine is that of the nodes.", of_one_host));
    }
    run.machine = nodes;
    return;
  }
  try {
    limit_to_nodes(run.machine, nodes);
  } catch (const Error& error) {
    throw error.at(place);
  }
}

void check_run_keys(const Node& root, const std::filesystem::path& path) {
  if (kind_of_file(root) == FileKind::machine) {
    throw usage_error(root.place(), "this is a machine file, not a run file",
                      fmt::format("name a run file: one with `machine: {}` and `tasks`",
                                  path.filename().string()));
  }
  for (std::size_t i = 0; i < root.entry_count(); ++i) {
    if (owner_of_key(root.key(i).text) != FileKind::machine) continue;
    throw usage_error(root.key(i).place(),
                      fmt::format("'{}' belongs to a machine, not to a run file", root.key(i).text),
                      "move it under `machine`, or into a machine file");
  }
  check_keys(root, "a run file", run_keys);
}

}  // namespace

RunFile load_run_file(const std::filesystem::path& path, const OpRegistry& ops,
                      const Machine* nodes, const FindGpus& find_gpus) {
  return read_run_file(Document::load(path), ops, nodes, find_gpus);
}

bool asks_for_gpus(const Document& document) {
  const Node& root = document.root();
  const Node* machine = root.type == Node::Type::map ? find(root, "machine") : nullptr;
  if (machine == nullptr || kind_of_file(root) == FileKind::machine) return false;
  if (machine->type == Node::Type::map) return discovers_gpus(*machine);
  if (is_this_host(*machine)) return false;
  return discovers_gpus(
      Document::load(machine_path(*machine, document.path()), machine->place()).root());
}

RunFile read_run_file(const Document& document, const OpRegistry& ops, const Machine* nodes,
                      const FindGpus& find_gpus) {
  const std::filesystem::path path = document.path();
  const Node& root = expect_map(document.root(), "a run file");
  check_run_keys(root, path);

  RunFile run(ops);
  run.name = path.stem().string();
  if (const Node* n = find(root, "about"))
    run.title = read_string(*n, "about", "text, in quotes if it begins with a bracket");
  const Node& machine = require(root, "machine", "the run file");
  const FindGpus of_nodes = [] { return UsableGpus{}; };  // they have said what they have
  const std::string of_one_host =
      read_machine_of_run(machine, path, nodes != nullptr ? of_nodes : find_gpus, run);
  if (nodes != nullptr) use_nodes(*nodes, machine.place(), of_one_host, run);
  const Node& tasks = expect_map(require(root, "tasks", "the run file"), "tasks");
  if (tasks.entry_count() == 0) {
    throw usage_error(tasks.place(), "there are no tasks", "add one, such as `run: {op: …}`");
  }
  InputDataTable inputs(path.parent_path());
  const TaskTable table = read_tasks(root, run.machine, run.graph, inputs);
  run.scenarios = read_scenarios(root, table);
  run.inputs = inputs.take();
  run.saves = read_saves(document, table, run);
  return run;
}

void check_data(const RunFile& run) {
  for (const InputData& data : run.inputs) {
    try {
      if (data.file == nullptr) throw usage_error("there is no such file", "check the path");
      data.file->check_size();
    } catch (const Error& error) {
      throw error_of_file(error, data.path, data.place);
    }
  }
  for (const SavedFile& file : run.saves) check_target(file);
}

}  // namespace troupe
