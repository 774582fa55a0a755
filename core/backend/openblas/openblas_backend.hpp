// CPU devices that compute, with the CPU kernels of core/ops (matrix products by OpenBLAS).
#pragma once

#include "core/backend/backend.hpp"

namespace troupe {

// Fits CPU devices. A device without cores of its own computes on one unpinned thread per stream.
//
// One stream: start() computes on the calling thread, which enter_thread() pins to the device's
// first core, helped by one pinned thread for each further core; it blocks.
//
// More streams: the device's cores are split evenly among them. Each stream computes on a thread of
// its own (with helpers if it has several cores) and reports to Completions. start() doesn't block,
// and the calling thread stays unpinned.
DeviceBackendEntry openblas_device_backend();

}  // namespace troupe
