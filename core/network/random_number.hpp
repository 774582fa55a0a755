// Numbers that nobody can predict.
#pragma once

#include <cstdint>
#include <random>

namespace troupe {

// Of the system's random device.
inline std::uint64_t random_number() {
  std::random_device random;
  const std::uint64_t high = random();
  return (high << 32) | random();
}

}  // namespace troupe
