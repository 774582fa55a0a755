#include "core/machine/machine.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace troupe {
namespace {

template <class IdType, class Row>
IdType find_by_name(const std::vector<Row>& rows, std::string_view name) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == name) return IdType::at(i);
  }
  return IdType::none();
}

template <class Part>
void check_names(const std::vector<Part>& parts, std::string_view what, std::string_view plural) {
  std::set<std::string_view> names;
  for (const Part& part : parts) {
    if (part.name.empty()) {
      throw usage_error(part.place, fmt::format("a {} has no name", what), "name it");
    }
    if (names.insert(part.name).second) continue;
    throw usage_error(part.place, fmt::format("there are two {} '{}'", plural, part.name),
                      "rename one");
  }
}

template <class Part>
void check_nodes(const std::vector<Part>& parts, std::size_t nodes) {
  for (const Part& part : parts) {
    if (!part.node || part.node.index() < nodes) continue;
    throw usage_error(part.place,
                      fmt::format("'{}' belongs to a node that is not there", part.name),
                      "leave its `node` out, or add the node");
  }
}

template <class Part>
void check_rate(const Part& part, std::string_view what, double rate) {
  if (rate > 0) return;
  throw usage_error(part.place, fmt::format("the {} of '{}' is {} a second", what, part.name, rate),
                    "give a number above 0");
}

template <class Part>
void check_time(const Part& part, std::string_view what, Duration latency) {
  if (latency >= Duration{0} && latency <= longest_duration) return;
  throw usage_error(part.place,
                    fmt::format("the {} of '{}' is {} s", what, part.name, seconds(latency)),
                    "give a time from 0 up");
}

void check_rates(const Device& device) {
  if (device.flops) check_rate(device, "rate", *device.flops);
  if (device.bandwidth) check_rate(device, "bandwidth", *device.bandwidth);
  for (const auto& [op, rate] : device.op_flops) check_rate(device, "rate of " + op, rate);
  check_time(device, "launch time", device.launch);
}

}  // namespace

std::string_view to_string(DeviceKind k) {
  return k == DeviceKind::cpu ? "cpu" : "gpu";
}

DeviceId Machine::find_device(std::string_view wanted) const {
  return find_by_name<DeviceId>(devices, wanted);
}
MemoryId Machine::find_memory(std::string_view wanted) const {
  const MemoryId found = find_by_name<MemoryId>(memories, wanted);
  return found && memory(found).kind == MemoryKind::network ? MemoryId::none() : found;
}
std::vector<std::string_view> Machine::memory_names() const {
  std::vector<std::string_view> names;
  for (const Memory& m : memories) {
    if (m.kind != MemoryKind::network) names.push_back(m.name);
  }
  return names;
}
LinkId Machine::find_link(std::string_view wanted) const {
  return find_by_name<LinkId>(links, wanted);
}

void check_machine(const Machine& machine) {
  if (machine.devices.empty() || machine.memories.empty()) {
    throw usage_error(fmt::format("the machine '{}' has no {}", machine.name,
                                  machine.devices.empty() ? "device" : "memory"),
                      "add one");
  }
  check_names(machine.devices, "device", "devices");
  check_names(machine.memories, "memory", "memories");
  check_names(machine.links, "link", "links");
  check_nodes(machine.devices, machine.nodes.size());
  check_nodes(machine.memories, machine.nodes.size());
  check_nodes(machine.links, machine.nodes.size());
  for (const Memory& memory : machine.memories) {
    if (memory.kind != MemoryKind::ram || memory.size_bytes > 0) continue;
    throw usage_error(memory.place, fmt::format("memory '{}' has no size", memory.name),
                      "give its size in bytes");
  }
  const auto is_there = [&](MemoryId m) { return m && m.index() < machine.memories.size(); };
  for (const Device& device : machine.devices) {
    if (!is_there(device.memory) || machine.memory(device.memory).kind != MemoryKind::ram) {
      throw usage_error(
          device.place,
          fmt::format("the device '{}' has a memory that is not there, or is storage", device.name),
          "set its `memory` to the id of a memory of kind RAM");
    }
    if (device.streams < 1 || device.streams > Device::streams_max) {
      throw usage_error(device.place,
                        fmt::format("the device '{}' has {} streams", device.name, device.streams),
                        fmt::format("give it 1 to {}", Device::streams_max));
    }
    if (device.issue_depth < 0 || device.issue_depth > Device::issue_depth_max) {
      throw usage_error(
          device.place,
          fmt::format("the device '{}' has an issue depth of {}", device.name, device.issue_depth),
          fmt::format("give it 1 to {}, or 0 for what suits the device", Device::issue_depth_max));
    }
    if (device.gpu < -1 || device.gpu > Device::gpu_number_max) {
      throw usage_error(
          device.place, fmt::format("the device '{}' is GPU {}", device.name, device.gpu),
          fmt::format("give it 0 to {}, or -1 for the next one in the machine's order",
                      Device::gpu_number_max));
    }
    check_rates(device);
  }
  for (const Link& link : machine.links) {
    if (!is_there(link.a) || !is_there(link.b) || link.a == link.b) {
      throw usage_error(link.place,
                        fmt::format("the link '{}' doesn't join two memories", link.name),
                        "set `a` and `b` to the ids of two memories");
    }
    if (link.chunk_bytes == 0) {
      throw usage_error(link.place, fmt::format("the link '{}' has chunks of 0 bytes", link.name),
                        "give it at least 4 KiB");
    }
    check_rate(link, "bandwidth", link.bandwidth[0]);
    check_rate(link, "bandwidth backward", link.bandwidth[1]);
    check_time(link, "latency", link.latency);
  }
}

const Device* owning_gpu(const Machine& machine, MemoryId memory) {
  const Device* owner = nullptr;
  for (const Device& device : machine.devices) {
    if (device.memory != memory) continue;
    if (device.kind == DeviceKind::cpu) return nullptr;
    owner = &device;
  }
  return owner;
}

bool has_any_gpu(const Machine& machine) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [](const Device& device) { return device.kind == DeviceKind::gpu; });
}

bool is_network_link(const Machine& machine, const Link& link) {
  return joins_nodes(machine, link.a) || joins_nodes(machine, link.b);
}

bool joins_nodes(const Machine& machine, MemoryId memory) {
  const Memory& of = machine.memory(memory);
  return of.kind == MemoryKind::network && !of.node && !machine.nodes.empty();
}

bool is_host_ram(const Machine& machine, MemoryId memory) {
  return machine.memory(memory).kind == MemoryKind::ram && owning_gpu(machine, memory) == nullptr;
}

std::string direction_name(const Machine& machine, LinkId link, Direction direction) {
  const Link& l = machine.link(link);
  return fmt::format("{} {}→{}", l.name, machine.memory(l.source(direction)).name,
                     machine.memory(l.target(direction)).name);
}

}  // namespace troupe
