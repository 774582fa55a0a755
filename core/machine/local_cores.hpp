// A described machine on this one: stand-ins for devices it lacks, cores for CPU devices, room for
// storage.
#pragma once

#include "core/machine/discover.hpp"
#include "core/machine/machine.hpp"

#include <string>
#include <string_view>

namespace troupe {

// "gpu0=cpu0": the CPU stands in for the device named first, which keeps its name, its memory and
// its links. The CPU is a CPU device of the machine, or one of this host's by its discovered name.
// Throws a usage Error where the text is malformed or a name unknown.
void map_device(Machine& machine, std::string_view mapping, const HostInfo& host);

// Gives every CPU device without `cores` an even part of the host's cores that no device names;
// with fewer cores than devices, devices share them. Throws a usage Error (with the device's place)
// where a device names a core that this process may not use.
void assign_cores(Machine& machine, const HostInfo& host);

// Gives storage without a size what is free in its directory now. Throws a usage Error (with the
// memory's place) where there is no such directory.
void measure_storage(Machine& machine);

}  // namespace troupe
