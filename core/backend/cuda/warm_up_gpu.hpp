// The first op of a kind on a GPU: CUDA loads its code then, which takes up to 80 ms.
#pragma once

#include "core/backend/backend.hpp"
#include "core/machine/machine.hpp"

#include <span>

namespace troupe {

// Computes each op once on a stream of its own, on zeros; not those that are as earlier ones of
// this process. Blocks until they have ended. Leaves out those for which there is no memory, or
// that CUDA refuses: the run will say so, if it comes to it. Throws a run Error if the GPU is of no
// use any more.
// `device`: which computes them later.
void warm_up_gpu(int gpu, const Device& device, std::span<const KernelSample> ops);

}  // namespace troupe
