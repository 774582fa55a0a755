// Tying a thread to cores.
#pragma once

#include <span>

namespace troupe {

// Restricts the calling thread to these cores (OS numbers). Does nothing where `cores` is empty or
// the system refuses: an unpinned thread is slower at worst.
void pin_this_thread(std::span<const int> cores);

}  // namespace troupe
