// The list of all backends, and the choice of a backend for each device and link.
#pragma once

#include "core/backend/backend.hpp"
#include "core/memory/memory_space.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace troupe {

// Where a device or a link is: of this process, or of another node.
enum class Locality : std::uint8_t { here, elsewhere };

// Every backend of this build. Their order matters: choose_backend() takes the first one that
// serves the mode and fits, so a special backend must stand before a general one.
std::span<const DeviceBackendEntry> device_backends();
std::span<const LinkBackendEntry> link_backends();

// Returns the backend for a device or link in this mode. Throws a usage Error if there is none (a
// GPU on a host without GPUs); the Error says how to simulate the device or map it to another one.
// Whether another node has what a backend needs is for that node to say: where `locality` is
// elsewhere, the machine's word is taken for it, and no GPU of this host is looked for.
const DeviceBackendEntry& choose_backend(Mode mode, const Machine& machine, DeviceId device,
                                         Locality locality = Locality::here);
const LinkBackendEntry& choose_backend(Mode mode, const Machine& machine, LinkId link,
                                       Locality locality = Locality::here);

// The space of a memory in this mode; null: it is memory of the host, or storage, or holds no
// values. A rehearsal has its storage in memory of the host. Throws a usage Error if it can't be
// made.
std::unique_ptr<MemorySpace> choose_space(Mode mode, const Machine& machine, MemoryId memory);

}  // namespace troupe
