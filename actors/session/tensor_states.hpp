// The states of a session's tensors, each of which is used again when its tensor is gone.
#pragma once

#include "actors/session/tensor_state.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

// All but reserve() and make() may be called from any thread.
class TensorStates {
 public:
  // So that the next `count` calls of make() need no memory. For one thread at a time, as make().
  void reserve(std::size_t count, SessionCore& session) {
    if (count > 1 || free_ == nullptr) make_room(count, session);
  }
  // A state of no tensor. There must have been a reserve() for it.
  TensorState* make() { return std::exchange(free_, free_->next); }
  // Its uses have come to 0: take_dropped() will return it. False if close() has been called.
  bool drop(TensorState& tensor);
  // Those that were dropped since the last call, linked by `next`.
  TensorState* take_dropped() { return dropped_.exchange(nullptr); }
  // The same for the last time: nobody will take others.
  TensorState* close();
  // Nothing refers to the tensor any more.
  void give_back(TensorState& tensor);

 private:
  void make_room(std::size_t count, SessionCore& session);

  std::vector<std::unique_ptr<TensorState[]>> slabs_;
  TensorState* free_ = nullptr;
  std::atomic<TensorState*> dropped_ = nullptr;
  std::atomic<TensorState*> returned_ = nullptr;
};

}  // namespace troupe
