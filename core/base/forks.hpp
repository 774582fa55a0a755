// Whether this process has come of a fork().
#pragma once

#include <cstdint>

namespace troupe {

// How many calls of fork() lie between this process and the one that called this first. Where two
// calls return different numbers, the second one is in a child, and the threads that were there at
// the first one are not. Thread-safe.
std::uint32_t fork_count();

}  // namespace troupe
