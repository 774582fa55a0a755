// A GPU that computes ops.
#pragma once

#include "core/backend/backend.hpp"
#include "core/backend/cuda/cuda_module.hpp"

#include <cstdint>
#include <memory>

namespace troupe {

// `gpu`: its number; `depth`: how many ops of a stream may be issued and not done. Throws a run
// Error if CUDA fails.
std::unique_ptr<DeviceBackend> make_gpu_device(const BackendContext& context, DeviceId id, int gpu,
                                               std::uint32_t depth);

// By all devices that are this GPU, until now.
CudaIssued issued_to(int gpu);

}  // namespace troupe
