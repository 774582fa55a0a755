// The one list of backends, and the one place that chooses between simulated and real ones.
#pragma once

#include "core/backend/backend.hpp"

#include <span>

namespace troupe {

// Every backend of this build, by name; for listings and the conformance tests.
std::span<const DeviceBackendEntry> device_backends();
std::span<const LinkBackendEntry> link_backends();

// The backend for a device or link in this mode. Throws a usage Error where a real run has none for
// it (a GPU where there is none), which says how to simulate it or map it to a stand-in.
const DeviceBackendEntry& choose_backend(Mode mode, const Machine& machine, DeviceId device);
const LinkBackendEntry& choose_backend(Mode mode, const Machine& machine, LinkId link);

}  // namespace troupe
