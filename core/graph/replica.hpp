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

}  // namespace troupe
