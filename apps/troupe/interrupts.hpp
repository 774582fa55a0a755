// Ctrl-C and SIGTERM.
#pragma once

#include <atomic>

namespace troupe {

// Whether one of them has come since catch_interrupts(). Any thread may read it.
const std::atomic<bool>& interrupted();

// Until this is called they end the program at once. From then on the first of them sets
// interrupted() instead, so that a run ends in good order; a second one ends the program.
void catch_interrupts();

}  // namespace troupe
