// A tensor's presence in one memory.
#pragma once

#include "core/base/id.hpp"

#include <cstdint>

namespace troupe {

using ReplicaId = Id<struct ReplicaTag>;  // one tensor in one memory

struct ReplicaSpec {
  MemoryId memory;
  std::uint32_t type = 0;      // into the types given with it
  std::uint32_t readers = 0;   // items that will read it, plus one where the runner keeps it
  bool leaves_digest = false;  // of its values, taken when the last reader is done
  bool is_private = false;     // made and read by one actor only
};

// What a tensor of so many bytes takes in RAM: whole cache lines, so that threads that write
// neighbours don't disturb each other, and from about a page on whole pages, for direct I/O.
constexpr std::uint64_t buffer_capacity(std::uint64_t bytes) {
  constexpr std::uint64_t line = 64;
  constexpr std::uint64_t page = 4096;
  const std::uint64_t unit = bytes <= page - line ? line : page;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace troupe
