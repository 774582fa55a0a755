// Describes the machine that this process runs on, through hwloc.
#pragma once

#include "core/base/error.hpp"
#include "core/machine/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct CacheInfo {
  int level = 0;
  std::uint64_t size_bytes = 0;
  int count = 0;
};

struct HostInfo {
  std::string cpu_model;
  std::vector<int> cores;  // OS numbers of the processing units this process may use, one per core
  std::vector<CacheInfo> caches;
  struct NumaNode {
    std::uint64_t memory_bytes = 0;
    std::vector<int> cores;
  };
  std::vector<NumaNode> numa;                // at least one
  std::vector<std::string> gpus;             // models of NVIDIA GPUs; empty if there are none
  std::uint64_t memory_bytes = 0;            // installed, or the cgroup's limit if that is lower
  std::uint64_t available_memory_bytes = 0;  // free for a new process now
};

// Respects the process's CPU affinity and cgroup limits. Throws a run Error if hwloc fails.
HostInfo discover_host();

struct LocalMachineOptions {
  static constexpr int cpu_devices_max = 1024;
  static constexpr int one_per_core = 0;
  int cpu_devices = 0;         // cores split evenly among so many CPU devices; 0: one per NUMA node
  bool storage = false;        // add a storage memory with a link from every CPU device's memory
  std::string directory = {};  // of that storage; empty: a temporary one
  // Ops that a CPU device may run at once, each on a part of its cores: a number, or one_per_core.
  int streams = 1;
};

// `host` as a Machine: CPU devices cpu0, cpu1, … with a memory each (mem0, …), and, if wanted,
// storage (disk, with links disk0, disk1, …). Up to 32 memories have a memcpy link between each
// pair (copy0-1). If there are more, each has a link to the first (copy0-1, copy0-2, …), and a copy
// between two others passes through the first. Seven eighths of the available memory are divided
// among the memories; the size of the disk is the free space of its file system. The rates are
// rough estimates from the number of cores (see local_machine.cpp), good enough to plan with; write
// a machine file to give measured ones. If there are fewer cores than devices, devices share cores.
// Throws a usage Error unless `cpu_devices` is from 0 to cpu_devices_max and `streams` from 1 to
// Device::streams_max, or one_per_core.
Machine local_machine(const HostInfo& host, const LocalMachineOptions& options = {});

// What a GPU can do at best: float32, its memory, and each way between that and the host. 0: not
// known.
struct GpuPeaks {
  double flops = 0;           // FLOP/s
  double bandwidth = 0;       // bytes per second, read and written
  double link_bandwidth = 0;  // bytes per second
};

// A GPU of this host that a real run can use.
struct UsableGpu {
  int number = -1;  // of the driver; -1: its place in the list
  std::string model = {};
  std::uint64_t memory_bytes = 0;            // installed
  std::uint64_t available_memory_bytes = 0;  // now
  GpuPeaks peaks = {};
  // Places in the list of GPUs before this one, with which it can access each other's memory.
  std::vector<std::size_t> peers = {};
};

// In the order of the driver. If there are none, `problem` says why, and what to do.
struct UsableGpus {
  std::vector<UsableGpu> gpus = {};
  std::vector<std::string> left_out = {};  // which ones can't be used, and why
  std::string problem = {};
};

// Finds them: usable_gpus() of core/backend, or what a test wants to be found.
using FindGpus = std::function<UsableGpus()>;

// The usage Error of what asks for GPUs where none can be used.
Error no_usable_gpu(const SourcePlace& place, const UsableGpus& usable);

// Adds GPUs gpu0, gpu1, … to a machine of local_machine(), named by the numbers of the driver, with
// a memory each (vram0, …: seven eighths of what is available), a link to the first memory of the
// host (pcie0, …) and one between each two that are peers (peer0-1, …). The rates are estimates
// from what is known of their peaks (see local_machine.cpp): nothing was measured.
void add_gpus(Machine& machine, std::span<const UsableGpu> gpus);

// The machine file (in the format of config/machine_file.hpp) of local_machine() with storage, and
// with these GPUs. Comments in it list the cores, caches, memories and GPUs of the host.
std::string describe_yaml(const HostInfo& host, const UsableGpus& usable = {});

}  // namespace troupe
