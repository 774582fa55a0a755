// Devices and links that take the time the cost model expects, and do nothing else.
#pragma once

#include "core/backend/backend.hpp"

namespace troupe {

// Fit any device and link. A simulated device has a kernel for what its figures say the cost of.
DeviceBackendEntry simulated_device_backend();
LinkBackendEntry simulated_link_backend();

}  // namespace troupe
