// Copies between two memories of this process.
#pragma once

#include "core/backend/backend.hpp"

namespace troupe {

// Fits links between two RAM memories that no GPU owns. Each direction copies on a thread of
// WorkerPool::of_links(), so both run at once; a chunk of up to 16 KiB is copied by the caller,
// which takes less time than waking a thread.
LinkBackendEntry memcpy_link_backend();

}  // namespace troupe
