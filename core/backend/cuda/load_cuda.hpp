// Loads the module of the CUDA backend.
#pragma once

#include "core/backend/cuda/cuda_module.hpp"

#include <string>

namespace troupe {

struct LoadedCuda {
  const CudaModule* module = nullptr;
  std::string problem;  // why there is no module, and what to do
};

// Loads libtroupe_cuda.so once: beside libtroupe.so, else where the system looks for libraries.
// Thread-safe.
const LoadedCuda& load_cuda();

}  // namespace troupe
