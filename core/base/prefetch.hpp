// Fetching a cache line before it is needed.
#pragma once

namespace troupe {

// The line of `p` will be written: takes it away from other cores' caches, without waiting for it.
inline void prefetch_to_write(const void* p) {
#if defined(__x86_64__)
  // The builtin doesn't give this instruction for the oldest x86-64, which takes it for none.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

}  // namespace troupe
