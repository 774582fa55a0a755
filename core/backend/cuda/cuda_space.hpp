// Tensors in the memory of a GPU, and in pinned memory of the host.
#pragma once

#include "core/memory/memory_space.hpp"

#include <memory>

namespace troupe {

// Keeps what is freed for tensors of the same size, as allocating may wait for the GPU. Reading and
// writing a tensor block until its bytes have been copied.
std::unique_ptr<MemorySpace> make_gpu_space(int gpu);

// A host space whose pool tells CUDA of its pages, so that copies to and from GPUs are made by the
// GPUs, beside all else. `gpu`: the one that is opened for it.
std::unique_ptr<MemorySpace> make_pinned_space(int gpu);

}  // namespace troupe
