// Pins a thread to cores.
#pragma once

#include <span>

namespace troupe {

// Restricts the calling thread to these cores (OS numbers). Does nothing if `cores` is empty or the
// system refuses: at worst, an unpinned thread is slower.
void pin_this_thread(std::span<const int> cores);

}  // namespace troupe
