// Functions that are compiled for several instruction sets.
#pragma once

// A function with this attribute is compiled for x86-64 processors with AVX-512, with AVX2, and for
// all; the loader takes what the processor has. What it calls must be inlined to gain from it.
// Sanitizers can't have code run that early, so with them there is one version.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define TROUPE_FOR_EACH_PROCESSOR \
  [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define TROUPE_FOR_EACH_PROCESSOR
#endif
