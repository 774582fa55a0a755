// How much randomised tests try.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace troupe::testing {

// A third under a sanitizer, where what takes a second otherwise takes twenty.
constexpr std::uint64_t usual_seeds(std::uint64_t count) {
#if defined(TROUPE_SANITIZE_ADDRESS) || defined(TROUPE_SANITIZE_THREAD)
  return (count + 2) / 3;
#else
  return count;
#endif
}

// How many seeds; tools/soak tries more than usual.
inline std::uint64_t seeds(std::uint64_t usual) {
  const char* const wanted = std::getenv("TROUPE_SEEDS");
  return wanted != nullptr ? std::stoull(wanted) : usual_seeds(usual);
}

// The first seed: one that has failed may be tried alone.
inline std::uint64_t first_seed() {
  const char* const wanted = std::getenv("TROUPE_FIRST_SEED");
  return wanted != nullptr ? std::stoull(wanted) : 1;
}

}  // namespace troupe::testing
