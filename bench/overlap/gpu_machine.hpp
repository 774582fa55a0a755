// The machine on which the experiments run: the CPU and the GPUs of this host.
#pragma once

#include "core/backend/cuda/cuda_backend.hpp"
#include "core/machine/machine.hpp"

#include <span>

namespace troupe::bench {

// A CPU device cpu0 with the memory mem0, and for GPU k a device gpuk with the memory vramk and a
// link pciek to mem0. With `share_gpu`, there are two devices, gpu0 and gpu1, which are both the
// first GPU, each with a memory of half its size. Sizes are nine tenths of what is free.
Machine gpu_machine(std::span<const CudaGpu> gpus, bool share_gpu = false);

}  // namespace troupe::bench
