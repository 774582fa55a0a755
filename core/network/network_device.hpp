// The network devices of this host.
#pragma once

#include <string>

namespace troupe {

// The name of the device ("eth0") that has the IPv4 address `address` ("10.0.0.7"). Throws a usage
// Error if there is none.
std::string network_device_with(const std::string& address);

}  // namespace troupe
