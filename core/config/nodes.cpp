#include "core/config/nodes.hpp"

#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/machine_parts.hpp"
#include "core/config/values.hpp"
#include "core/machine/node_joiner.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::int64_t nodes_max = 16384;

class NodesReader {
 public:
  NodesReader(const Node& node, const OpRegistry& ops) : node_(node), ops_(ops) {}

  Machine read() {
    constexpr std::array<std::string_view, 5> known = {"machine", "about", "nodes", "network",
                                                       "links"};
    check_keys(node_, "a machine with nodes", known);
    const Node& nodes = expect_map(require(node_, "nodes", "the machine"), "nodes");
    if (nodes.entry_count() == 0) {
      throw usage_error(nodes.place(), "the machine has no nodes", "it needs at least one");
    }
    for (std::size_t i = 0; i < nodes.entry_count(); ++i) read_entry(nodes.key(i), nodes.value(i));
    const Node* const links = find(node_, "links");
    if (links != nullptr) add_links(*links, machine_, ops_);
    if (const Node* network = find(node_, "network")) {
      add_network(*network);
    } else if (links == nullptr && machine_.nodes.size() > 1) {
      throw usage_error(nodes.place(), "nothing joins the nodes",
                        "add `network: {bandwidth: 12.5 GB/s}`, or `links` between their memories");
    }
    check_names();
    return std::move(machine_);
  }

 private:
  // One node, or `count` of one sort.
  void read_entry(const Node& key, const Node& value) {
    expect_identifier(key, "a node");
    if (key.text.find('.') != std::string::npos) {
      throw usage_error(key.place(), fmt::format("the name '{}' has a dot", key.text),
                        "the parts of a node n have the names n.cpu0 and so on: leave dots out");
    }
    const std::string what = fmt::format("node '{}'", key.text);
    if (value.type == Node::Type::scalar && !value.text.empty()) {
      throw usage_error(value.place(), fmt::format("{} is {}", what, describe(value)),
                        fmt::format("write {{machine: {}}}", shortened(value.text)));
    }
    constexpr std::array<std::string_view, 6> known = {"count",   "machine",  "network_memory",
                                                       "devices", "memories", "links"};
    check_keys(expect_map(value, what), what, known);
    const Machine part = read_part(value, what);
    const MemoryId joined = network_memory(value, what, part);
    const Node* const count = find(value, "count");
    if (count == nullptr) return add_node(key.text, key, part, joined);
    const std::int64_t n = read_integer(*count, "count of " + what, 1, nodes_max);
    for (std::int64_t i = 0; i < n; ++i) {
      add_node(fmt::format("{}{}", key.text, i), key, part, joined);
    }
  }

  Machine read_part(const Node& value, const std::string& what) const {
    const Node* const machine = find(value, "machine");
    if (machine == nullptr) return read_machine_parts(value, ops_);
    for (const std::string_view key : {"devices", "memories", "links"}) {
      const Node* const beside = find(value, key);
      if (beside == nullptr) continue;
      throw usage_error(beside->place(), fmt::format("{} has '{}' beside 'machine'", what, key),
                        "keep one of them");
    }
    if (is_this_host(*machine)) return without_cores(read_this_host(*machine));
    const std::string name = read_string(*machine, "machine of " + what, "`local` or a path");
    const Document document = Document::load(
        std::filesystem::path(*machine->file).parent_path() / name, machine->place());
    const Node& root = document.root();
    if (const Node* inner = root.type == Node::Type::map ? find(root, "nodes") : nullptr) {
      throw usage_error(inner->place(), fmt::format("the machine of {} has nodes itself", what),
                        "name a machine file with devices and memories");
    }
    Machine part = read_machine_file(document, ops_);
    const bool is_discovered = root.type == Node::Type::map && find(root, "discover") != nullptr;
    return is_discovered ? without_cores(std::move(part)) : part;
  }

  // Which cores a discovered machine has is for each node to say.
  static Machine without_cores(Machine machine) {
    for (Device& device : machine.devices) device.cores.clear();
    return machine;
  }

  // The memory that the network reads and writes: the first of the host, unless one is named.
  static MemoryId network_memory(const Node& value, const std::string& what, const Machine& part) {
    if (const Node* n = find(value, "network_memory")) {
      const std::string name = read_string(*n, "network_memory of " + what, "the name of a memory");
      const MemoryId named = part.find_memory(name);
      if (named && part.memory(named).kind == MemoryKind::ram) return named;
      std::vector<std::string_view> names;
      for (const Memory& m : part.memories) {
        if (m.kind == MemoryKind::ram) names.push_back(m.name);
      }
      throw usage_error(
          n->place(),
          fmt::format("network_memory of {} is '{}', which is {}", what,
                      named ? name : shortened(name), named ? "storage" : "no memory"),
          suggestion(name, names));
    }
    if (const MemoryId first = default_network_memory(part); first) return first;
    throw usage_error(value.place(), fmt::format("{} has no memory but those of its GPUs", what),
                      "say which of them the network reads and writes: `network_memory: vram0`");
  }

  void add_node(const std::string& name, const Node& key, const Machine& part, MemoryId joined) {
    if (!names_.insert(name).second) {
      throw usage_error(key.place(), fmt::format("there are two nodes '{}'", name), "rename one");
    }
    joiner_.add_node(name, part, joined);
  }

  void add_network(const Node& network) {
    constexpr std::array<std::string_view, 5> known = {"bandwidth", "latency", "chunk", "rack",
                                                       "oversubscription"};
    check_keys(expect_map(network, "network"), "network", known);
    NetworkSpec spec{.place = network.place()};
    spec.bandwidth =
        read_bandwidth(require(network, "bandwidth", "network"), "bandwidth of the network");
    if (const Node* n = find(network, "latency")) {
      spec.latency = read_duration(*n, "latency of the network");
    }
    if (const Node* n = find(network, "chunk")) {
      spec.chunk_bytes = read_chunk(*n, "chunk of the network");
    }
    if (const Node* n = find(network, "rack")) {
      spec.rack = static_cast<std::size_t>(read_integer(*n, "rack of the network", 1, nodes_max));
    }
    if (const Node* n = find(network, "oversubscription")) {
      spec.oversubscription = read_number(*n, "oversubscription of the network");
      if (!(spec.oversubscription >= 1)) {
        throw usage_error(n->place(), "oversubscription of the network is " + describe(*n),
                          "1 means none, 4 that racks are joined by a quarter of what their nodes "
                          "have");
      }
      if (spec.rack == 0) {
        throw usage_error(n->place(), "the network has an oversubscription, and no racks",
                          "add `rack`, the number of nodes that share a switch");
      }
    }
    joiner_.add_network(spec);
  }

  // What nodes have can't clash, but with what joins them.
  void check_names() const {
    std::set<std::string_view> names;
    const auto check = [&](const auto& parts) {
      for (const auto& part : parts) {
        if (names.insert(part.name).second) continue;
        throw usage_error(part.place, fmt::format("the name '{}' is taken", part.name),
                          "give each device, memory and link a name of its own");
      }
    };
    check(machine_.devices);
    check(machine_.memories);
    check(machine_.links);
  }

  const Node& node_;
  const OpRegistry& ops_;
  Machine machine_;
  NodeJoiner joiner_{machine_};
  std::set<std::string> names_;  // of nodes
};

}  // namespace

Machine read_nodes(const Node& node, const OpRegistry& ops) {
  return NodesReader(node, ops).read();
}

}  // namespace troupe
