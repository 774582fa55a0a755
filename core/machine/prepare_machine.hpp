// Prepares a described machine for a run on this host: replaces devices that the host lacks, and
// fills in the cores of CPU devices and the size of storage.
#pragma once

#include "core/machine/discover.hpp"
#include "core/machine/machine.hpp"

#include <cstdint>
#include <string_view>

namespace troupe {

// "gpu0=cpu0": makes gpu0 a CPU device with the rates of cpu0, all streams together, which keeps
// its name, its streams, its memory and its links. cpu0 must be a CPU device of the machine, or one
// of the host by its discovered name. `host` is null for a simulation, whose times don't depend on
// where it runs. Throws a usage Error if the text is malformed or a name is unknown.
void map_device(Machine& machine, std::string_view mapping, const HostInfo* host);

// Divides the host's cores that no device names evenly among the CPU devices without `cores`. If
// there are fewer such cores than devices, devices share them. Throws a usage Error (with the
// device's place) if a device names a core that this process may not use.
void assign_cores(Machine& machine, const HostInfo& host);

// The most cores that an op gets on a device of the machine; a device whose cores it doesn't say is
// taken to have all of this host. At least 1.
std::int64_t widest_team(const Machine& machine);

// Sets the size of each storage that has none to the free space of its directory. Throws a usage
// Error (with the memory's place) if there is no such directory.
void measure_storage(Machine& machine);

}  // namespace troupe
