// How much randomised tests try.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace troupe::testing {

// How many seeds; tools/soak tries more than usual.
inline std::uint64_t seeds(std::uint64_t usual) {
  const char* const wanted = std::getenv("TROUPE_SEEDS");
  return wanted != nullptr ? std::stoull(wanted) : usual;
}

// The first seed: one that has failed may be tried alone.
inline std::uint64_t first_seed() {
  const char* const wanted = std::getenv("TROUPE_FIRST_SEED");
  return wanted != nullptr ? std::stoull(wanted) : 1;
}

}  // namespace troupe::testing
