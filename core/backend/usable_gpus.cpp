#include "core/backend/usable_gpus.hpp"

#include "core/backend/cuda/cuda_backend.hpp"

#include <utility>

namespace troupe {

UsableGpus usable_gpus() {
  UsableGpus usable{.gpus = {}, .problem = cuda_problem()};
  for (CudaGpu& gpu : cuda_gpus()) {
    usable.gpus.push_back({.number = gpu.number,
                           .model = std::move(gpu.name),
                           .memory_bytes = gpu.memory_bytes,
                           .available_memory_bytes = gpu.free_bytes});
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
