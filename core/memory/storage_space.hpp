// Tensors in storage: a file each, in a temporary folder.
#pragma once

#include "core/memory/memory_space.hpp"

#include <memory>

namespace troupe {

// Creates a new folder in the memory's directory, which is removed with the space. Throws a usage
// Error if that fails.
std::unique_ptr<MemorySpace> make_storage_space(const Memory& memory);

}  // namespace troupe
