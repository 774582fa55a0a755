#include "core/backend/usable_gpus.hpp"

#include "core/backend/cuda/cuda_backend.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace troupe {

UsableGpus usable_gpus() {
  UsableGpus usable{.gpus = {}, .problem = cuda_problem()};
  const std::vector<CudaGpu> found = cuda_gpus();
  for (const CudaGpu& gpu : found) {
    std::vector<std::size_t> peers;
    for (std::size_t p = 0; p < usable.gpus.size(); ++p) {
      if (cuda_are_peers(gpu, found[p])) peers.push_back(p);
    }
    usable.gpus.push_back({.number = gpu.number,
                           .model = gpu.name,
                           .memory_bytes = gpu.memory_bytes,
                           .available_memory_bytes = gpu.free_bytes,
                           .peaks = gpu.peaks,
                           .peers = std::move(peers)});
  }
  if (usable.gpus.empty() && usable.problem.empty()) {
    usable.problem =
        "the driver has GPUs, and none of them can be opened; see what nvidia-smi says of them: "
        "one "
        "may be lost, full, or in exclusive use";
  }
  return usable;
}

}  // namespace troupe
