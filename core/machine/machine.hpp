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
  static constexpr int streams_max = 1024;
  static constexpr int issue_depth_max = 1024;
  static constexpr int gpu_number_max = 63;

  std::string name;
  DeviceKind kind = DeviceKind::cpu;
  MemoryId memory = {};
  int streams = 1;      // ops that may run at once
  int issue_depth = 0;  // ops of a stream that may be issued and not done; 0: as the backend likes
  Duration launch{0};   // added to every op
  // FLOP/s by name of the op kind; `flops` is for all other kinds.
  std::map<std::string, double, std::less<>> op_flops = {};
  std::optional<double> flops = {};
  std::optional<double> bandwidth = {};  // bytes per second to and from its memory
  int gpu = -1;                          // of a GPU: its number on the host; -1: in their order
  bool tf32 = false;                     // of a GPU: float32 products have factors in TF32
  bool cuda_graphs = true;               // of a GPU: short ops are launched together
  std::vector<int> cores = {};           // of a CPU: the OS core numbers that a real run uses
  NodeId node = {};
  SourcePlace place = {};
};

enum class MemoryKind : std::uint8_t {
  ram,      // addressable by this process, or a GPU's memory
  storage,  // files in a directory
  network,  // a switch, of a node or between nodes: tensors on their way, without a limit
};

struct Memory {
  std::string name;
  MemoryKind kind = MemoryKind::ram;
  std::uint64_t size_bytes = 0;  // RAM: at least 1; storage: 0 if not known, and then not checked
  std::string directory = {};    // storage: of its files; empty: a temporary directory
  std::string size_reason =
      {};  // of a size that isn't the file's, in words: "what is free on GPU 0"
  NodeId node = {};
  SourcePlace place = {};
};

enum class Sharing : std::uint8_t {
  fifo,  // one transfer at a time, like a copy engine
  fair,  // moves one chunk of each waiting transfer in turn, like a bus or a network
};

enum class Direction : std::uint8_t { forward, backward };  // from a to b, from b to a

struct Link {
  std::string name;
  MemoryId a = {};
  MemoryId b = {};
  double bandwidth[2] = {0, 0};  // bytes per second, by Direction; must be given
  Duration latency{0};           // paid once for each transfer
  Sharing sharing = Sharing::fifo;
  std::uint64_t chunk_bytes = 4 << 20;  // for turns on a fair link, and for pipelining on routes
  NodeId node = {};                     // of an end that is a switch's, the other one's
  SourcePlace place = {};

  MemoryId source(Direction d) const { return d == Direction::forward ? a : b; }
  MemoryId target(Direction d) const { return d == Direction::forward ? b : a; }
};

struct Machine {
  std::string name;
  std::vector<Device> devices;
  std::vector<Memory> memories;
  std::vector<Link> links;
  std::vector<std::string> nodes = {};  // names; none: all is on one node, which has no name
  std::vector<std::string> gpus_left_out = {};  // of this host, when its GPUs were found, and why

  const Device& device(DeviceId d) const { return devices[d.index()]; }
  const Memory& memory(MemoryId m) const { return memories[m.index()]; }
  const Link& link(LinkId l) const { return links[l.index()]; }
  // Return none if there is no such name. A switch is no memory to put tensors into.
  DeviceId find_device(std::string_view wanted) const;
  MemoryId find_memory(std::string_view wanted) const;
  std::vector<std::string_view> memory_names() const;  // that find_memory() finds
  LinkId find_link(std::string_view wanted) const;
};

// Throws a usage Error unless there is a device and a memory, names are unique among devices, among
// memories and among links, every device has a memory of kind RAM and a stream, every link joins
// two memories, rates are above 0 and times not below. A machine that was read from a file has all
// that.
void check_machine(const Machine& machine);

bool has_any_gpu(const Machine& machine);

// Returns the GPU whose memory this is, or null. A memory that a CPU device uses, too, belongs to
// the host.
const Device* owning_gpu(const Machine& machine, MemoryId memory);

// Whether the memory is a switch between nodes.
bool joins_nodes(const Machine& machine, MemoryId memory);
// Whether it joins a node to one, or two of these.
bool is_network_link(const Machine& machine, const Link& link);

// Whether this process can read and write the memory in a real run: RAM that no GPU owns.
bool is_host_ram(const Machine& machine, MemoryId memory);

// "pcie0 host→vram0"
std::string direction_name(const Machine& machine, LinkId link, Direction direction);

}  // namespace troupe
