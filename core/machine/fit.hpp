// Whether a machine can take the place of another one.
#pragma once

#include "core/machine/machine.hpp"

#include <string>

namespace troupe {

// What `has` lacks of the devices, their cores and the memories of `wanted`, such as "cpu0 has 2
// cores instead of 4"; empty if nothing. How much RAM is free varies from moment to moment: half as
// much will do.
std::string lack_of(const Machine& has, const Machine& wanted);

// A machine of several nodes, which are to be these: its host memories hold no more than there is.
// What is free on GPUs nodes say when they have the machine. Throws a usage Error unless both have
// the same number of nodes.
void limit_to_nodes(Machine& machine, const Machine& nodes);

}  // namespace troupe
