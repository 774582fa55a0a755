#include "core/backend/usable_gpus.hpp"

#include "core/backend/cuda/cuda_backend.hpp"

#include <utility>

namespace troupe {

UsableGpus usable_gpus() {
  UsableGpus usable{.gpus = {}, .problem = cuda_problem()};
  for (CudaGpu& gpu : cuda_gpus()) {
    usable.gpus.push_back({.model = std::move(gpu.name),
                           .memory_bytes = gpu.memory_bytes,
                           .available_memory_bytes = gpu.free_bytes});
  }
  return usable;
}

}  // namespace troupe
