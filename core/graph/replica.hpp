// A tensor's presence in one memory.
#pragma once

#include "core/base/id.hpp"

#include <cstdint>

namespace troupe {

using ReplicaId = Id<struct ReplicaTag>;  // one tensor in one memory

struct ReplicaSpec {
  MemoryId memory;
  std::uint32_t type = 0;      // index into the types that are passed with the spec
  std::uint32_t readers = 0;   // items that will read the replica; one more if it is kept
  bool leaves_digest = false;  // a digest is taken when the last reader is done
  bool is_private = false;     // made and read by one actor only
  bool is_adopted = false;     // its values are somewhere already: it needs no buffer
};

}  // namespace troupe
