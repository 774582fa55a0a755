// Tensors in memory of the host, where kernels read and write them.
#pragma once

#include "core/memory/memory_space.hpp"

#include <memory>

namespace troupe {

// Memories that share a pool reuse each other's buffers.
std::unique_ptr<MemorySpace> make_host_space(std::shared_ptr<BufferPool> pool);

}  // namespace troupe
