// A machine: devices that compute, memories that hold tensors, links between memories.
#pragma once

#include "core/base/error.hpp"
#include "core/base/id.hpp"
#include "core/base/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class DeviceKind : std::uint8_t { cpu, gpu };
std::string_view to_string(DeviceKind k);

struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::cpu;
  MemoryId memory = {};
  int streams = 1;     // ops it may run at once
  Duration launch{0};  // added to every op
  // FLOP/s it reaches in ops of a kind, by op name; `flops` is for the others.
  std::map<std::string, double, std::less<>> op_flops = {};
  std::optional<double> flops = {};
  std::optional<double> bandwidth = {};  // bytes per second to and from its memory
  std::vector<int> cores = {};           // OS core numbers it owns when it really runs (CPU)
  SourcePlace place = {};
};

enum class MemoryKind : std::uint8_t {
  ram,      // addressable by this process, or a GPU's memory
  storage,  // files in a directory
};

struct Memory {
  std::string name;
  MemoryKind kind = MemoryKind::ram;
  std::uint64_t size_bytes = 0;  // storage: 0 where it is not known, and so not checked
  std::string directory = {};    // storage: where the files go; empty: a temporary one
  SourcePlace place = {};
};

enum class Sharing : std::uint8_t {
  fifo,  // one transfer at a time, as a copy engine
  fair,  // chunks taken in turn from every transfer under way, as a bus or a network
};

enum class Direction : std::uint8_t { forward, backward };  // from a to b, from b to a

struct Link {
  std::string name;
  MemoryId a = {};
  MemoryId b = {};
  double bandwidth[2] = {0, 0};  // bytes per second, by Direction
  Duration latency{0};           // once for each transfer
  Sharing sharing = Sharing::fifo;
  std::uint64_t chunk_bytes = 4 << 20;  // what a fair link takes in turn, what a route pipelines by
  SourcePlace place = {};

  MemoryId source(Direction d) const { return d == Direction::forward ? a : b; }
  MemoryId target(Direction d) const { return d == Direction::forward ? b : a; }
};

struct Machine {
  std::string name;
  std::vector<Device> devices;
  std::vector<Memory> memories;
  std::vector<Link> links;

  const Device& device(DeviceId d) const { return devices[d.index()]; }
  const Memory& memory(MemoryId m) const { return memories[m.index()]; }
  const Link& link(LinkId l) const { return links[l.index()]; }
  // None where there is no such name.
  DeviceId find_device(std::string_view wanted) const;
  MemoryId find_memory(std::string_view wanted) const;
  LinkId find_link(std::string_view wanted) const;
};

// The GPU that this memory belongs to, or null. A memory that a CPU device uses too is the host's.
const Device* owning_gpu(const Machine& machine, MemoryId memory);

// Whether this process can read and write the memory in a real run: RAM that no GPU owns.
bool is_host_ram(const Machine& machine, MemoryId memory);

// "pcie0 host→vram0"
std::string direction_name(const Machine& machine, LinkId link, Direction direction);

}  // namespace troupe
