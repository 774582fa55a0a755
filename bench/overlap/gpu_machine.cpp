#include "bench/overlap/gpu_machine.hpp"

#include "core/machine/discover.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace troupe::bench {

Machine gpu_machine(std::span<const CudaGpu> gpus, bool share_gpu) {
  Machine machine = local_machine(discover_host(), {.cpu_devices = 1});
  const std::size_t devices = share_gpu ? 2 : gpus.size();
  for (std::size_t k = 0; k < devices; ++k) {
    const std::size_t number = share_gpu ? 0 : k;
    const MemoryId memory = MemoryId::at(machine.memories.size());
    machine.memories.push_back(
        {.name = fmt::format("vram{}", k),
         .size_bytes = gpus[number].free_bytes / 10 * 9 / (share_gpu ? 2 : 1)});
    // Plans need rates. All ops are placed here, so that the rates only say which ops are short.
    machine.devices.push_back({.name = fmt::format("gpu{}", k),
                               .kind = DeviceKind::gpu,
                               .memory = memory,
                               .flops = 1e12,
                               .bandwidth = 1e12,
                               .gpu = static_cast<int>(number)});
    machine.links.push_back({.name = fmt::format("pcie{}", k),
                             .a = MemoryId{0},
                             .b = memory,
                             .bandwidth = {1e10, 1e10}});
  }
  return machine;
}

}  // namespace troupe::bench
