// Machines for tests with simple times: by default a FLOP takes 1 ns, and so does a byte.
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

// dev0 with memory "a", dev1 with memory "b", and a link between the memories. `streams` is for
// dev0.
struct TwoDevices {
  int streams = 1;
  Duration latency{0};
  std::uint64_t size_bytes = 1 << 30;
  double flops[2] = {1e9, 1e9};
};
inline Machine two_devices(const TwoDevices& options = {}) {
  SmallMachine m;
  const MemoryId a = m.memory("a", options.size_bytes);
  const MemoryId b = m.memory("b", options.size_bytes);
  m.device("dev0", a, options.streams, options.flops[0]);
  m.device("dev1", b, 1, options.flops[1]);
  m.link("link", a, b, options.latency);
  return m.machine;
}

// dev0 and dev1 on one memory.
inline Machine two_devices_on_one_memory() {
  SmallMachine m;
  const MemoryId a = m.memory("a");
  m.device("dev0", a);
  m.device("dev1", a);
  return m.machine;
}

}  // namespace troupe::testing
