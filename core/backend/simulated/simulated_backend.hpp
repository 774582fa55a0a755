// Simulated devices and links: work takes the time that the cost model expects, and no values are
// computed or copied.
#pragma once

#include "core/backend/backend.hpp"

namespace troupe {

// Fit every device and link. A simulated device has a kernel for every op kind.
DeviceBackendEntry simulated_device_backend();
LinkBackendEntry simulated_link_backend();

}  // namespace troupe
