// The format of machine files
// ===========================
//
// machine: one-gpu                 # the machine's name; default: the file's name
// about: an example                # free text for readers, not used
//
// devices:                         # what computes
//   cpu0:                          # any name; see below
//     kind: cpu                    # cpu or gpu
//     memory: host                 # the memory its ops read and write; must be of kind ram
//     streams: 1                   # ops it may run at once, 1..1024; default 1. The rates below
//                                  #   are those of each: with 4 streams, a simulation takes the
//                                  #   device for four times as fast
//     issue_depth: 64              # kind gpu: ops of each stream that it may be given before those
//                                  #   that they depend on are done, 1..1024; default 64, in
//                                  #   simulations none
//     launch: 10 us                # added to every op; default 0
//     flops: 100 GFLOP/s           # its rate for ops that have no rate of their own here
//     matmul: 510 GFLOP/s          # its rate for one kind of op; any op that computes may be named
//                                  #   so, those of a library given by --ops, too
//     bandwidth: 20 GB/s           # between it and its memory: limits ops that compute little
//     cores: [0, 1]                # kind cpu: OS numbers of the cores it owns when it really runs
//     gpu: 0                       # kind gpu: which GPU of the host it is when it really runs, as
//                                  #   its driver numbers them, 0..63; two devices may be one GPU.
//                                  #   Default: those without this key are GPUs 0, 1, … in order
//     tf32: true                   # kind gpu: products of float32 take their factors with 10
//                                  #   bits of mantissa when it really runs; default false
//
// memories:                        # where tensors live. Devices that use one memory don't share a
//                                  #   bandwidth. Tensors get room in the order of the graph: where
//                                  #   a memory can't hold all of the list `run`, the list `down`,
//                                  #   which reads it, comes too late to free any, and the file is
//                                  #   refused; as tasks run0, down0, run1, down1, … both fit
//   host: {size: 64 GiB}
//   disk:
//     kind: storage                # ram (default; a GPU's memory too) or storage (files)
//     size: 1 TB                   # ram: needed; storage: default is what is free there
//     directory: /mnt/scratch      # storage: where the files go, relative to the machine file;
//                                  #   default: a temporary directory
//
// links:                           # what copies, in both directions at the same time, each with
//                                  #   all of its bandwidth. Tensors of any size take the same
//                                  #   route: that whose links, added up, need the least time for
//                                  #   1 MiB. It may be several links, also where a direct one is
//                                  #   slower; of two links that are equal, only one is used
//   pcie0:
//     between: [host, vram0]       # two memories; forward is from the first to the second
//     bandwidth: 25 GB/s           # forward
//     backward_bandwidth: 24 GB/s  # default: the same as bandwidth
//     latency: 10 us               # once for each transfer; default 0
//     sharing: fifo                # fifo (default): one transfer at a time in each direction, as a
//                                  #   copy engine; fair: chunks in turn, as a bus or a network
//     chunk: 4 MiB                 # a fair link carries a chunk of each transfer in turn, and a
//                                  #   route of several links forwards chunk by chunk; at least
//                                  #   4 KiB, default 4 MiB
//
// or, instead of devices, memories and links, the machine that reads the file:
//
// discover: true
// discover:
//   cpu_devices: 2                 # its cores split among so many CPU devices cpu0, cpu1, … with a
//                                  #   memory each; default: one for each NUMA node. Up to 32
//                                  #   memories are linked in pairs, more of them through mem0
//   storage: true                  # with a storage memory; default false
//   directory: /mnt/scratch        # of that storage, as above
//   gpus: true                     # with all GPUs that a run can use, gpu0, gpu1, …, each with a
//                                  #   memory vram0, … and a link pcie0, … to mem0, and links
//                                  #   peer0-1, … between those that can access each other's
//                                  #   memory; an error if there are none; default false. Loads
//                                  #   CUDA, and opens them
//
// or several nodes, each with an operating system of its own:
//
// nodes:
//   login:                         # one node: its parts have the names login.cpu0, login.mem0, …
//     machine: local               # what the machine that reads the file has,
//   gpu:
//     machine: everything.yaml     #   or a machine file, relative to this one;
//     count: 128                   # 1..16384: nodes gpu0, gpu1, …, whose parts are gpu0.vram0, …
//   store:                         #   or devices, memories and links, as above
//     devices: {cpu: {kind: cpu, memory: host, flops: 50 GFLOP/s}}
//     memories: {host: {size: 64 GiB}, nic: {size: 1 GiB}}
//     network_memory: nic          # the memory that the network reads and writes; default: the
//                                  #   first that no GPU owns
// network:                         # a switch, which each node has a link to: login.network, …
//   bandwidth: 12.5 GB/s           # of each of these links, in each direction
//   latency: 5 us                  # from one node to another; default 0. A link is taken for half
//                                  #   of it, so that one direction carries 2 / latency transfers
//                                  #   a second at most
//   chunk: 64 KiB                  # that is forwarded at once; at least 4 KiB, default 64 KiB
//   rack: 32                       # nodes that share a switch: network.rack0, network.rack1, …,
//                                  #   which one more switch joins, with as much latency again
//   oversubscription: 4            # a rack's link to it has the bandwidth of a full rack's nodes,
//                                  #   divided by this, also where the last rack has fewer;
//                                  #   default 1
// links:                           # in place of a network, or beside it, as above
//   cable: {between: [login.mem0, store.host], bandwidth: 5 GB/s}
//
// A name begins with a letter or _ and goes on with letters, digits, '_', '.' and '-'. No two
// devices, memories or links share one. Quantities have units, which core/base/units.hpp lists.
// document.hpp says which parts of YAML may be used.
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
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::int64_t cpu_devices_max = 1024;

// The GPUs that a file asks for at this node.
std::vector<UsableGpu> found_gpus(const Node& node, const FindGpus& find_gpus) {
  if (!find_gpus) {
    throw usage_error(node.place(), "GPUs can't be discovered here, only for the whole machine",
                      "name them: `troupe machine` prints those of its host");
  }
  UsableGpus found = find_gpus();
  // Without either, they come later: those of the nodes of a run.
  if (found.gpus.empty() && !found.problem.empty()) throw no_usable_gpu(node.place(), found);
  return std::move(found.gpus);
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
  constexpr std::array<std::string_view, 4> known = {"cpu_devices", "storage", "directory", "gpus"};
  check_keys(expect_map(node, "discover"), "discover", known);
  if (const Node* n = find(node, "cpu_devices")) {
    options.cpu_devices = static_cast<int>(read_integer(*n, "cpu_devices", 1, cpu_devices_max));
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
    const std::vector<UsableGpu> found = found_gpus(*gpus, find_gpus);
    machine = local_machine(discover_host(), options);
    add_gpus(machine, found);
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
