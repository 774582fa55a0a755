// Prefetching a cache line. Does not wait for the line.
#pragma once

namespace troupe {

// Assembly on x86-64, for two reasons: GCC removes calls of functions that only call
// __builtin_prefetch, and on baseline x86-64 its builtin for writing does not emit prefetchw. Any
// address may be passed, null too.

// For a line that will be read, or written while no other core has it.
inline void prefetch_to_read(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetcht0 %a0" : : "p"(p));
#else
  __builtin_prefetch(p, 0);
#endif
}

// For a line that will be written: invalidates the line in other cores' caches.
inline void prefetch_to_write(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetchw %a0" : : "p"(p));
#else
  __builtin_prefetch(p, 1);
#endif
}

}  // namespace troupe
