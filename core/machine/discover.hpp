// The machine this process runs on, as hwloc sees it.
#pragma once

#include "core/machine/machine.hpp"

#include <cstdint>
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
  std::vector<NumaNode> numa;      // at least one
  std::vector<std::string> gpus;   // models; empty where there are none or CUDA isn't there
  std::uint64_t memory_bytes = 0;  // installed, or the cgroup's limit where that is lower
  std::uint64_t available_memory_bytes = 0;  // free for a new process now
};

// Honours the process's CPU affinity and cgroup limits. Throws a run Error where hwloc fails.
HostInfo discover_host();

struct LocalMachineOptions {
  int cpu_devices = 0;         // cores split evenly among so many CPU devices; 0: one per NUMA node
  bool storage = false;        // add a storage memory with a link from every CPU device's memory
  std::string directory = {};  // of that storage; empty: a temporary one
};

// `host` as a Machine: CPU devices cpu0, cpu1, … with a memory each (mem0, …), and storage (disk,
// with links disk0, disk1, …) where asked for. Up to 32 memories have a memcpy link between each
// pair (copy0-1); of more, each has a link to the first (copy0-1, copy0-2, …), and a copy between
// two others goes through that one. The memories share what is available now, less an eighth for
// everything else; the disk is what its file system has free. Its rates are rough estimates from
// the core count (local_machine.cpp says which), good enough to plan with; a calibrated machine
// file replaces them. With fewer cores than devices, devices share cores.
Machine local_machine(const HostInfo& host, const LocalMachineOptions& options);

// local_machine with its storage as a machine file in YAML (config/machine_file.hpp's format), with
// what was found as comments.
std::string describe_yaml(const HostInfo& host);

}  // namespace troupe
