#include "core/backend/usable_gpus.hpp"

#include "core/backend/cuda/cuda_backend.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {

UsableGpus usable_gpus() {
  UsableGpus usable{.gpus = {}, .problem = cuda_problem()};
  std::vector<CudaGpu> used;
  for (CudaGpu& gpu : cuda_gpus()) {
    if (!gpu.problem.empty()) {
      usable.left_out.push_back(fmt::format("{}: {}", name_of(gpu), gpu.problem));
      continue;
    }
    std::vector<std::size_t> peers;
    for (std::size_t p = 0; p < used.size(); ++p) {
      if (cuda_are_peers(gpu, used[p])) peers.push_back(p);
    }
    usable.gpus.push_back({.number = gpu.number,
                           .model = gpu.name,
                           .memory_bytes = gpu.memory_bytes,
                           .available_memory_bytes = gpu.free_bytes,
                           .peaks = gpu.peaks,
                           .peers = std::move(peers)});
    used.push_back(std::move(gpu));
  }
  if (usable.gpus.empty() && usable.problem.empty()) {
    usable.problem = usable.left_out.empty()
                         ? "the driver has lost its GPUs; see what nvidia-smi says of them"
                         : usable.left_out.front();
  }
  return usable;
}

}  // namespace troupe
