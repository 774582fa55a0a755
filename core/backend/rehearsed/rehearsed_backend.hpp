// Devices and links that compute and copy for real but take the time the cost model expects: what a
// simulated schedule would give as results, on one thread and under every message order.
#pragma once

#include "core/backend/backend.hpp"

namespace troupe {

// A device of any kind, through the CPU kernels.
DeviceBackendEntry rehearsed_device_backend();
// Between memories of kind ram.
LinkBackendEntry rehearsed_link_backend();

}  // namespace troupe
