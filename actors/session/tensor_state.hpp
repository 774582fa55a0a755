// A tensor of a session, as its handles, the calls that wait, and the engine see it.
#pragma once

#include "core/base/id.hpp"
#include "core/graph/replica.hpp"
#include "core/ops/tensor_type.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

class SessionCore;

struct TensorState {
  // Handles, and the calls that make or read the tensor and are not handed out yet. At 0 nothing
  // can read it any more but what has been handed out.
  std::atomic<std::uint32_t> uses{0};
  std::uint32_t type = 0;    // of the session's signatures
  std::uint64_t number = 0;  // of the call, counted from 1
  std::uint64_t seen = 0;    // `number` since a wait with a timeout has found the tensor made
  SessionCore* session = nullptr;
  TensorState* next = nullptr;  // in a list of dropped or free ones

  // For the engine alone.
  struct Copy {
    ReplicaId replica;
    std::uint32_t window = 0;  // that makes it
  };
  OpId op = {};                 // in the graph of now; none: not handed out
  std::uint64_t last_used = 0;  // grows with each call
  std::uint64_t moved_for = 0;  // the number of a call that needed room
  std::vector<Copy> copies;     // one in each memory, which the session holds

  // Programs that are reading the values where they are, in RAM: they must stay there.
  std::atomic<std::uint32_t> readers{0};

  // Values that the program gave, until they are in the store.
  std::shared_ptr<const std::byte> given;
  bool is_adopted = false;  // the store may have them where they are
};

}  // namespace troupe
