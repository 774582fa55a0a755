// The ports of a library that listens by itself.
#pragma once

#include <span>
#include <vector>

namespace troupe {

// The sockets of this process that wait for TCP connections over IPv4, in ascending order.
std::vector<int> listening_sockets();

// Whether sockets that listen take connections. If not, the kernel drops what comes for them, and
// connections that there are remain. Does nothing where the kernel can't do that.
void set_accepting(std::span<const int> sockets, bool accept);

}  // namespace troupe
