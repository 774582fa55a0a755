// Transfers between a memory of this process and a storage directory: real writes and reads.
#pragma once

#include "core/backend/backend.hpp"

namespace troupe {

// Fits links between a RAM memory that no GPU owns and a storage memory. Each direction works on a
// thread of WorkerPool::of_links(). A tensor is one file of its bytes and nothing else
// (file/tensor_file.hpp).
LinkBackendEntry file_link_backend();

}  // namespace troupe
