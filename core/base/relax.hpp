// A pause for spin-wait loops.
#pragma once

namespace troupe {

// Marks a spin-wait loop for the processor. Takes 10 to 140 cycles.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace troupe
