// The priority of a thread that shall keep nobody waiting.
#pragma once

#include <thread>

namespace troupe {

// From now on the thread runs only where no other thread of this host wants to. Needs no privilege;
// where the host refuses all the same, nothing changes.
void give_way(std::thread& thread);

}  // namespace troupe
