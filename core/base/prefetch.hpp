// Prefetching a cache line. Does not wait for the line.
#pragma once

namespace troupe {

// Assembly for GCC on x86-64, for two reasons: it removes calls of functions that only call
// __builtin_prefetch, and on baseline x86-64 its builtin for writing does not emit prefetchw. Any
// address may be passed, null too.
#if defined(__x86_64__) && !defined(__clang__)
#define TROUPE_PREFETCH_IN_ASSEMBLY
#endif

// For a line that will be read, or written while no other core has it.
inline void prefetch_to_read(const void* p) {
#ifdef TROUPE_PREFETCH_IN_ASSEMBLY
  asm volatile("prefetcht0 %a0" : : "p"(p));
#else
  __builtin_prefetch(p, 0);
#endif
}

// For a line that will be written: invalidates the line in other cores' caches.
inline void prefetch_to_write(const void* p) {
#ifdef TROUPE_PREFETCH_IN_ASSEMBLY
  asm volatile("prefetchw %a0" : : "p"(p));
#else
  __builtin_prefetch(p, 1);
#endif
}

}  // namespace troupe

#undef TROUPE_PREFETCH_IN_ASSEMBLY
