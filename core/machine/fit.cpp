#include "core/machine/fit.hpp"

#include "core/base/error.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace troupe {

std::string lack_of(const Machine& has, const Machine& wanted) {
  for (const Device& device : wanted.devices) {
    const DeviceId found = has.find_device(device.name);
    if (!found || has.device(found).kind != device.kind) {
      return fmt::format("it has no device {}", device.name);
    }
    const std::size_t cores = has.device(found).cores.size();
    if (cores < device.cores.size()) {
      return fmt::format("{} has {} instead of {}", device.name, format_count(cores, "core"),
                         device.cores.size());
    }
  }
  for (const Memory& memory : wanted.memories) {
    const MemoryId found = has.find_memory(memory.name);
    if (!found || has.memory(found).kind != memory.kind) {
      return fmt::format("it has no memory {}", memory.name);
    }
    const std::uint64_t bytes = has.memory(found).size_bytes;
    if (memory.kind == MemoryKind::ram && bytes < memory.size_bytes / 2) {
      return fmt::format("{} has {} instead of {}", memory.name, format_bytes(bytes),
                         format_bytes(memory.size_bytes));
    }
  }
  return {};
}

void limit_to_nodes(Machine& machine, const Machine& nodes) {
  if (machine.nodes.empty()) {
    throw usage_error("the machine has no nodes, and would run on some",
                      "name no nodes, or describe them in the machine: `nodes:` of a file");
  }
  if (machine.nodes.size() != nodes.nodes.size()) {
    throw usage_error(fmt::format("the machine has {}, and gets {}",
                                  format_count(machine.nodes.size(), "node"), nodes.nodes.size()),
                      "give it as many");
  }
  for (std::size_t m = 0; m < machine.memories.size(); ++m) {
    if (!is_host_ram(machine, MemoryId::at(m))) continue;
    Memory& memory = machine.memories[m];
    std::uint64_t bytes = 0;
    for (std::size_t n = 0; n < nodes.memories.size(); ++n) {
      const Memory& there = nodes.memories[n];
      if (there.node == memory.node && is_host_ram(nodes, MemoryId::at(n))) {
        bytes += there.size_bytes;
      }
    }
    memory.size_bytes = std::min(memory.size_bytes, bytes);
  }
}

}  // namespace troupe
