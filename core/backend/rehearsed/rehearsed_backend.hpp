// Rehearsed devices and links: work takes the time that the cost model expects, and values are
// computed and copied. So the results of a simulated schedule can be checked, on one thread and
// under any order of messages.
#pragma once

#include "core/backend/backend.hpp"

namespace troupe {

// Fits every device. Uses the CPU kernels.
DeviceBackendEntry rehearsed_device_backend();
// Fits every link: storage is memory of the host here (choose_space).
LinkBackendEntry rehearsed_link_backend();

}  // namespace troupe
