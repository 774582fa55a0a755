// Machines to test with, whose times are easy to say: by default a FLOP or a byte takes 1 ns.
#pragma once

#include "core/machine/machine.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace troupe::testing {

struct SmallMachine {
  Machine machine{.name = "small", .devices = {}, .memories = {}, .links = {}};

  MemoryId memory(std::string name, std::uint64_t size_bytes = 1 << 30) {
    machine.memories.push_back({.name = std::move(name), .size_bytes = size_bytes});
    return MemoryId::at(machine.memories.size() - 1);
  }
  DeviceId device(std::string name, MemoryId memory, int streams = 1, double flops = 1e9) {
    machine.devices.push_back(
        {.name = std::move(name), .memory = memory, .streams = streams, .flops = flops});
    return DeviceId::at(machine.devices.size() - 1);
  }
  LinkId link(std::string name, MemoryId a, MemoryId b, Duration latency = {},
              Sharing sharing = Sharing::fifo, std::uint64_t chunk_bytes = 4 << 20) {
    machine.links.push_back({.name = std::move(name),
                             .a = a,
                             .b = b,
                             .bandwidth = {1e9, 1e9},
                             .latency = latency,
                             .sharing = sharing,
                             .chunk_bytes = chunk_bytes});
    return LinkId::at(machine.links.size() - 1);
  }
};

}  // namespace troupe::testing
