// Fetching a cache line before it is needed, without waiting for it.
#pragma once

namespace troupe {

// As assembly on x86-64: GCC leaves calls out of functions that do nothing but __builtin_prefetch,
// and its builtin for writing is no instruction on the oldest x86-64. Any address will do, null
// too.

// The line of `p` will be read, or written by the only thread that knows it.
inline void prefetch_to_read(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %a0" : : "p"(p));
#else
  __builtin_prefetch(p, 0);
#endif
}

// The line of `p` will be written: takes it away from other cores' caches.
inline void prefetch_to_write(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetchw %a0" : : "p"(p));
#else
  __builtin_prefetch(p, 1);
#endif
}

}  // namespace troupe
