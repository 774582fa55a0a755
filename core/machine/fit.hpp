// Whether a machine can take the place of another one.
#pragma once

#include "core/machine/machine.hpp"

#include <string>

namespace troupe {

// What `has` lacks of the devices, their cores and the memories of `wanted`, such as "cpu0 has 2
// cores instead of 4"; empty if nothing. How much RAM is free varies from moment to moment: half as
// much will do.
std::string lack_of(const Machine& has, const Machine& wanted);

}  // namespace troupe
