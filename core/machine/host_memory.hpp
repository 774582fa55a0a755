// How much memory this process may use on its host.
#pragma once

#include <cstdint>
#include <filesystem>

namespace troupe {

struct HostMemory {
  std::uint64_t total_bytes = 0;      // installed, or a limit of this process if that is lower
  std::uint64_t available_bytes = 0;  // for new allocations now, without swapping
};

// Reads /proc/meminfo, the files of this process's memory cgroup (v1 or v2, its ancestors included)
// and its limit of addresses (ulimit -v), which takes about 50 us. `root` stands in for / in tests.
// Throws a run Error if /proc/meminfo can't be read.
HostMemory host_memory(const std::filesystem::path& root = "/");

}  // namespace troupe
