// For loops that wait for another thread.
#pragma once

namespace troupe {

// Tells the processor that this is a waiting loop; takes 10 to 140 cycles.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace troupe
