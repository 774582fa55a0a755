// The format is documented in docs/machine_files.md.
#include "core/config/machine_file.hpp"

#include "core/config/file_kind.hpp"
#include "core/config/machine_parts.hpp"
#include "core/config/nodes.hpp"
#include "core/config/values.hpp"
#include "core/machine/discover.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// The GPUs that a file asks for at this node.
UsableGpus found_gpus(const Node& node, const FindGpus& find_gpus) {
  if (!find_gpus) {
    throw usage_error(
        node.place(),
        "GPUs can't be discovered here, only for the whole machine, and by a program only if "
        "it gives load_machine_file() the function usable_gpus",
        "do so, or name them: `troupe machine` prints those of its host");
  }
  UsableGpus found = find_gpus();
  // Without either, they come later: those of the nodes of a run.
  if (found.gpus.empty() && !found.problem.empty()) throw no_usable_gpu(node.place(), found);
  return found;
}

// The key `gpus` of `discover`, or null.
const Node* find_gpus_key(const Node& discover) {
  return discover.type == Node::Type::map ? find(discover, "gpus") : nullptr;
}

LocalMachineOptions read_discover_options(const Node& node) {
  LocalMachineOptions options;
  if (node.type == Node::Type::scalar) {
    if (!read_bool(node, "discover")) {
      throw usage_error(node.place(), "discover is false", "remove it, or write true");
    }
    return options;
  }
  constexpr std::array<std::string_view, 5> known = {"cpu_devices", "streams", "storage",
                                                     "directory", "gpus"};
  check_keys(expect_map(node, "discover"), "discover", known);
  if (const Node* n = find(node, "cpu_devices")) {
    options.cpu_devices =
        static_cast<int>(read_integer(*n, "cpu_devices", 1, LocalMachineOptions::cpu_devices_max));
  }
  if (const Node* n = find(node, "streams")) {
    const auto streams = read_integer_or("cores", *n, "streams", 1, Device::streams_max);
    options.streams = streams ? static_cast<int>(*streams) : int{LocalMachineOptions::one_per_core};
  }
  if (const Node* n = find(node, "storage")) options.storage = read_bool(*n, "storage");
  if (const Node* n = find(node, "directory")) {
    if (!options.storage) {
      throw usage_error(n->place(), "a directory is given, but no storage is asked for",
                        "add `storage: true`, or remove the directory");
    }
    options.directory = read_directory(*n, "directory");
  }
  return options;
}

void set_places(Machine& machine, const SourcePlace& place) {
  const auto set = [&](auto& parts) {
    for (auto& part : parts) part.place = place;
  };
  set(machine.devices);
  set(machine.memories);
  set(machine.links);
}

Machine discover(const Node& node, const FindGpus& find_gpus) {
  const LocalMachineOptions options = read_discover_options(node);
  Machine machine;
  if (const Node* gpus = find_gpus_key(node); gpus != nullptr && read_bool(*gpus, "gpus")) {
    // First: what the driver takes of the host's memory isn't there for tensors.
    UsableGpus found = found_gpus(*gpus, find_gpus);
    machine = local_machine(discover_host(), options);
    add_gpus(machine, found.gpus);
    machine.gpus_left_out = std::move(found.left_out);
  } else {
    machine = local_machine(discover_host(), options);
  }
  set_places(machine, node.place());
  return machine;
}

}  // namespace

Machine read_machine(const Node& node, std::string_view default_name, const OpRegistry& ops,
                     const FindGpus& find_gpus) {
  expect_map(node, "a machine");
  for (std::size_t i = 0; i < node.entry_count(); ++i) {
    if (owner_of_key(node.key(i).text) != FileKind::run) continue;
    throw usage_error(node.key(i).place(),
                      fmt::format("'{}' belongs to a run file, not to a machine", node.key(i).text),
                      "move it to the top level of a run file, which names its machine file in "
                      "`machine`");
  }
  check_keys(node, "a machine", machine_keys);
  Machine machine;
  if (const Node* n = find(node, "discover")) {
    for (std::size_t i = 0; i < node.entry_count(); ++i) {
      const Node& key = node.key(i);
      constexpr std::array<std::string_view, 3> described = {"machine", "about", "discover"};
      if (std::find(described.begin(), described.end(), key.text) != described.end()) continue;
      throw usage_error(key.place(), "'" + key.text + "' can't stand beside 'discover'",
                        "keep one of them: `troupe machine` prints what discover finds");
    }
    machine = discover(*n, find_gpus);
  } else if (find(node, "nodes") != nullptr) {
    machine = read_nodes(node, ops);
  } else if (const Node* network = find(node, "network")) {
    throw usage_error(network->place(),
                      "the machine has a network, and no nodes that it could join",
                      "add `nodes`, or remove it");
  } else {
    machine = read_machine_parts(node, ops);
  }
  if (const Node* n = find(node, "machine")) {
    machine.name = read_string(*n, "the machine's name", "a name");
  } else if (machine.name.empty()) {
    machine.name = default_name;
  }
  return machine;
}

Machine load_machine_file(const std::filesystem::path& path, const OpRegistry& ops,
                          const FindGpus& find_gpus) {
  return read_machine_file(Document::load(path), ops, find_gpus);
}

Machine read_machine_file(const Document& document, const OpRegistry& ops,
                          const FindGpus& find_gpus) {
  return read_machine(document.root(), document.path().stem().string(), ops, find_gpus);
}

bool is_this_host(const Node& machine) {
  return machine.type == Node::Type::scalar && machine.text == "local";
}

Machine read_this_host(const Node& machine) {
  Machine host = local_machine(discover_host(), {});
  set_places(host, machine.place());
  return host;
}

bool discovers_gpus(const Node& machine) {
  const Node* discover = machine.type == Node::Type::map ? find(machine, "discover") : nullptr;
  const Node* gpus = discover != nullptr ? find_gpus_key(*discover) : nullptr;
  return gpus != nullptr && gpus->type == Node::Type::scalar && gpus->text == "true";
}

std::string settings_of_one_host(const Node& machine) {
  if (machine.type != Node::Type::map) return {};
  const Node* discover = find(machine, "discover");
  if (discover == nullptr) return "the devices of the file's own machine";
  if (discover->type != Node::Type::map) return {};
  std::string keys;
  for (std::size_t i = 0; i < discover->entry_count(); ++i) {
    const std::string& key = discover->key(i).text;
    if (key != "gpus") keys += (keys.empty() ? "" : ", ") + key;
  }
  return keys.empty() ? keys : keys + " of `discover`";
}

bool is_machine_file(const Document& document) {
  const Node& root = document.root();
  if (root.type != Node::Type::map) return false;
  const std::optional<FileKind> kind = kind_of_file(root);
  if (kind) return *kind == FileKind::machine;
  throw usage_error(root.place(), "no key says whether this is a machine file or a run file",
                    "a machine file has `devices` and `memories`, or `discover`; a run file has "
                    "`machine` and `tasks`");
}

}  // namespace troupe
