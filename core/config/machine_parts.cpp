#include "core/config/machine_parts.hpp"

#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/config/values.hpp"
#include "core/patterns/pattern_ops.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::int64_t core_number_max = 65535;
// Smaller chunks would cost mostly overhead, and a simulation has an event for each.
constexpr std::uint64_t chunk_min_bytes = 4096;

constexpr std::array<std::string_view, 11> device_keys = {
    "kind",      "memory", "streams", "issue_depth", "launch",     "flops",
    "bandwidth", "cores",  "gpu",     "tf32",        "cuda_graphs"};

// The kinds that a device may have a rate for: those that run on devices, not on links. A kind of a
// library that has the name of another key gets none.
std::vector<std::string_view> op_names(const OpRegistry& ops) {
  std::vector<std::string_view> names;
  const auto holds = [](const auto& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const OpRegistry* registry : {&pattern_ops(), &ops}) {
    for (const std::string_view name : registry->names()) {
      if (holds(device_keys, name) || holds(names, name)) continue;
      if (!(*registry)[registry->find(name)].moves_data) names.push_back(name);
    }
  }
  return names;
}

// Reads one machine, and keeps the names that it has read for messages.
class PartsReader {
 public:
  // With the parts of `machine`, which links may refer to.
  explicit PartsReader(const OpRegistry& ops, Machine machine = {})
      : op_names_(op_names(ops)), machine_(std::move(machine)) {
    keys_.insert(keys_.end(), op_names_.begin(), op_names_.end());
    for (const Device& device : machine_.devices) device_names_.push_back(device.name);
    for (std::size_t m = 0; m < machine_.memories.size(); ++m) {
      memories_.emplace(machine_.memories[m].name, MemoryId::at(m));
    }
  }

  Machine read(const Node& node) {
    const Node& devices = section(node, "devices");
    const Node& memories = section(node, "memories");
    // Memories first: devices and links refer to them by name.
    for_each_entry(memories, "a memory", &PartsReader::read_memory);
    for (std::size_t i = 0; i < devices.entry_count(); ++i) {
      device_names_.push_back(devices.key(i).text);
    }
    for_each_entry(devices, "a device", &PartsReader::read_device);
    if (const Node* links = find(node, "links")) return read_links(*links);
    return std::move(machine_);
  }

  Machine read_links(const Node& links) {
    for_each_entry(expect_map(links, "links"), "a link", &PartsReader::read_link);
    return std::move(machine_);
  }

 private:
  static const Node& section(const Node& node, std::string_view name) {
    const Node& map = expect_map(require(node, name, "the machine"), name);
    if (map.entry_count() == 0) {
      throw usage_error(map.place(), fmt::format("the machine has no {}", name),
                        "it needs at least one, as the files in config/machines/ show");
    }
    return map;
  }

  void for_each_entry(const Node& map, std::string_view what,
                      void (PartsReader::*read_entry)(const Node& key, const Node& value)) {
    for (std::size_t i = 0; i < map.entry_count(); ++i) {
      const Node& key = map.key(i);
      expect_identifier(key, what);
      const auto [earlier, is_new] = lines_.emplace(key.text, key.line);
      if (!is_new) {
        throw usage_error(key.place(),
                          fmt::format("the name '{}' is taken; it is in line {} too",
                                      shortened(key.text), earlier->second),
                          "give each device, memory and link a name of its own");
      }
      expect_map(map.value(i), fmt::format("'{}'", shortened(key.text)));
      (this->*read_entry)(key, map.value(i));
    }
  }

  void read_memory(const Node& key, const Node& value) {
    const std::string& name = key.text;
    const std::string what = fmt::format("memory '{}'", name);
    constexpr std::array<std::string_view, 3> known = {"size", "kind", "directory"};
    constexpr std::array<std::string_view, 3> kinds = {"ram", "storage", "switch"};
    check_keys(value, what, known);

    Memory memory{.name = name, .place = key.place()};
    if (const Node* n = find(value, "kind")) {
      memory.kind = static_cast<MemoryKind>(read_choice(*n, "kind of " + what, kinds));
    }
    const bool storage = memory.kind == MemoryKind::storage;
    const bool is_ram = memory.kind == MemoryKind::ram;
    const Node* size = is_ram ? &require(value, "size", what) : find(value, "size");
    if (size != nullptr && !is_ram && !storage) {
      throw usage_error(size->place(), fmt::format("{} is a switch, but has a size", what),
                        "remove it: tensors only pass through");
    }
    if (size != nullptr) {
      memory.size_bytes = read_bytes(*size, "size of " + what);
      if (memory.size_bytes == 0) {
        throw usage_error(size->place(), fmt::format("the size of {} is zero", what),
                          storage ? "leave `size` out to use the space that is free there"
                                  : "give it a size such as 16 GiB");
      }
    }
    if (const Node* n = find(value, "directory")) {
      if (!storage) {
        throw usage_error(n->place(), fmt::format("{} is not storage, but has a directory", what),
                          "add `kind: storage`, or remove the directory");
      }
      memory.directory = read_directory(*n, "directory of " + what);
    }
    memories_.emplace(name, MemoryId::at(machine_.memories.size()));
    machine_.memories.push_back(std::move(memory));
  }

  MemoryId find_memory(const Node& node, std::string_view what) const {
    const std::string name = read_string(node, what, "the name of a memory");
    if (const auto found = memories_.find(name); found != memories_.end()) return found->second;
    if (std::find(device_names_.begin(), device_names_.end(), name) != device_names_.end()) {
      throw usage_error(node.place(), fmt::format("{} is '{}', which is a device", what, name),
                        "name the device's memory");
    }
    std::vector<std::string_view> names;
    for (const Memory& m : machine_.memories) names.push_back(m.name);
    throw usage_error(node.place(),
                      fmt::format("{} is '{}', which is no memory", what, shortened(name)),
                      suggestion(name, names));
  }

  void read_device(const Node& key, const Node& value) {
    const std::string& name = key.text;
    const std::string what = fmt::format("device '{}'", name);
    const auto of_device = [&](std::string_view k) { return fmt::format("{} of {}", k, what); };
    constexpr std::array<std::string_view, 2> kinds = {"cpu", "gpu"};
    check_keys(value, what, keys_);

    Device device{.name = name, .place = key.place()};
    device.kind = read_choice(require(value, "kind", what), of_device("kind"), kinds) == 0
                      ? DeviceKind::cpu
                      : DeviceKind::gpu;
    const Node& memory = require(value, "memory", what);
    device.memory = find_memory(memory, of_device("memory"));
    if (const Memory& given = machine_.memory(device.memory); given.kind != MemoryKind::ram) {
      throw usage_error(memory.place(),
                        fmt::format("{} can't compute in '{}', which is {}", what, given.name,
                                    given.kind == MemoryKind::storage ? "storage" : "a switch"),
                        "give it a memory of kind ram, and link that to it");
    }
    if (const Node* n = find(value, "streams")) {
      device.streams =
          static_cast<int>(read_integer(*n, of_device("streams"), 1, Device::streams_max));
    }
    if (const Node* n = find(value, "issue_depth")) {
      check_is_gpu(*n, device, "issue_depth", "its ops aren't issued ahead");
      device.issue_depth =
          static_cast<int>(read_integer(*n, of_device("issue_depth"), 1, Device::issue_depth_max));
    }
    if (const Node* n = find(value, "launch")) {
      device.launch = read_duration(*n, of_device("launch"));
    }
    if (const Node* n = find(value, "flops")) device.flops = read_flops(*n, of_device("flops"));
    if (const Node* n = find(value, "bandwidth")) {
      device.bandwidth = read_bandwidth(*n, of_device("bandwidth"));
    }
    if (const Node* n = find(value, "cores")) read_cores(*n, of_device("cores"), device);
    if (const Node* n = find(value, "gpu")) {
      check_is_gpu(*n, device, "gpu", "`gpu` numbers GPUs");
      device.gpu = static_cast<int>(read_integer(*n, of_device("gpu"), 0, Device::gpu_number_max));
    }
    if (const Node* n = find(value, "tf32")) {
      check_is_gpu(*n, device, "tf32", "TF32 is a format of GPUs");
      device.tf32 = read_bool(*n, of_device("tf32"));
    }
    if (const Node* n = find(value, "cuda_graphs")) {
      check_is_gpu(*n, device, "cuda_graphs", "CUDA graphs are for GPUs");
      device.cuda_graphs = read_bool(*n, of_device("cuda_graphs"));
    }
    for (const std::string_view op : op_names_) {
      if (const Node* n = find(value, op)) {
        device.op_flops.emplace(op, read_flops(*n, fmt::format("rate of {} for {}", what, op)));
      }
    }
    machine_.devices.push_back(std::move(device));
  }

  // `why`: what the key has to do with GPUs.
  static void check_is_gpu(const Node& n, const Device& device, std::string_view key,
                           std::string_view why) {
    if (device.kind == DeviceKind::gpu) return;
    throw usage_error(n.place(), fmt::format("'{}' is a CPU, and {}", device.name, why),
                      fmt::format("remove `{}`, or write kind: gpu", key));
  }

  static void read_cores(const Node& list, const std::string& what, Device& device) {
    if (device.kind != DeviceKind::cpu) {
      throw usage_error(list.place(), fmt::format("'{}' has cores, but is no CPU", device.name),
                        "remove `cores`");
    }
    for (const Node& n : expect_list(list, what).children) {
      const int core = static_cast<int>(read_integer(n, what, 0, core_number_max));
      if (std::find(device.cores.begin(), device.cores.end(), core) != device.cores.end()) {
        throw usage_error(n.place(), fmt::format("{} name {} twice", what, core), "remove one");
      }
      device.cores.push_back(core);
    }
    if (device.cores.empty()) {
      throw usage_error(list.place(), fmt::format("{} is an empty list", what),
                        "remove it, or list the cores' numbers");
    }
  }

  void read_link(const Node& key, const Node& value) {
    const std::string& name = key.text;
    const std::string what = fmt::format("link '{}'", name);
    const auto of_link = [&](std::string_view k) { return fmt::format("{} of {}", k, what); };
    constexpr std::array<std::string_view, 6> known = {"between", "bandwidth", "backward_bandwidth",
                                                       "latency", "sharing",   "chunk"};
    constexpr std::array<std::string_view, 2> sharings = {"fifo", "fair"};
    check_keys(value, what, known);

    Link link{.name = name, .place = key.place()};
    const Node& between = expect_list(require(value, "between", what), of_link("between"));
    if (between.children.size() != 2) {
      throw usage_error(between.place(),
                        fmt::format("{} lists {}", of_link("between"), between.children.size()),
                        "it takes two memories, as in [host, vram0]");
    }
    link.a = find_memory(between.children[0], of_link("between"));
    link.b = find_memory(between.children[1], of_link("between"));
    if (link.a == link.b) {
      throw usage_error(between.children[1].place(),
                        fmt::format("{} joins '{}' to itself", what, machine_.memory(link.a).name),
                        "name two different memories");
    }
    link.bandwidth[0] = read_bandwidth(require(value, "bandwidth", what), of_link("bandwidth"));
    link.bandwidth[1] = link.bandwidth[0];
    if (const Node* n = find(value, "backward_bandwidth")) {
      link.bandwidth[1] = read_bandwidth(*n, of_link("backward_bandwidth"));
    }
    if (const Node* n = find(value, "latency")) {
      link.latency = read_duration(*n, of_link("latency"));
    }
    if (const Node* n = find(value, "sharing")) {
      link.sharing =
          read_choice(*n, of_link("sharing"), sharings) == 0 ? Sharing::fifo : Sharing::fair;
    }
    if (const Node* n = find(value, "chunk")) link.chunk_bytes = read_chunk(*n, of_link("chunk"));
    machine_.links.push_back(std::move(link));
  }

  const std::vector<std::string_view> op_names_;
  std::vector<std::string_view> keys_{device_keys.begin(), device_keys.end()};  // of a device
  Machine machine_;
  std::unordered_map<std::string, int> lines_;  // of every name so far
  std::unordered_map<std::string, MemoryId> memories_;
  std::vector<std::string> device_names_;
};

}  // namespace

std::string read_directory(const Node& node, std::string_view what) {
  const std::filesystem::path directory = read_string(node, what, "a path");
  return (std::filesystem::path(*node.file).parent_path() / directory).string();
}

std::uint64_t read_chunk(const Node& node, const std::string& what) {
  const std::uint64_t bytes = read_bytes(node, what);
  if (bytes >= chunk_min_bytes) return bytes;
  throw usage_error(node.place(), fmt::format("{} is {}", what, describe(node)),
                    "write at least 4 KiB");
}

Machine read_machine_parts(const Node& node, const OpRegistry& ops) {
  return PartsReader(ops).read(node);
}

void add_links(const Node& links, Machine& machine, const OpRegistry& ops) {
  machine = PartsReader(ops, std::move(machine)).read_links(links);
}

}  // namespace troupe
