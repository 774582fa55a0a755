// Tensors in the memory of a GPU, and in pinned memory of the host.
#pragma once

#include "core/memory/memory_space.hpp"

#include <cstdint>
#include <memory>

namespace troupe {

// Keeps what is freed for tensors of the same size, as allocating may wait for the GPU; beyond
// `bytes_max`, what is kept of other sizes is given back first. Reading and writing a tensor block
// until its bytes have been copied.
std::unique_ptr<MemorySpace> make_gpu_space(int gpu, std::uint64_t bytes_max);
// Gives back what all such spaces keep of the GPU's memory and no tensor is in.
void free_kept_memory(int gpu);

// A host space whose pool tells CUDA of its pages, so that copies to and from GPUs are made by the
// GPUs, beside all else. `gpu`: the one that is opened for it.
std::unique_ptr<MemorySpace> make_pinned_space(int gpu);

}  // namespace troupe
