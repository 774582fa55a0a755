// A link between the memory of a GPU and that of the host, or of another GPU.
#pragma once

#include "core/backend/backend.hpp"

#include <cstdint>
#include <memory>

namespace troupe {

// `gpu_of_a`, `gpu_of_b`: numbers of the GPUs at its ends, -1 for the host. Throws a run Error if
// CUDA fails.
std::unique_ptr<LinkBackend> make_gpu_link(const BackendContext& context, int gpu_of_a,
                                           int gpu_of_b, std::uint32_t depth);

}  // namespace troupe
