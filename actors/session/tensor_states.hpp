// The states of a session's tensors, each of which is used again when its tensor is gone.
#pragma once

#include "actors/session/tensor_state.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace troupe {

// All but make() may be called from any thread.
class TensorStates {
 public:
  // A state of no tensor. For one thread at a time.
  TensorState* make(SessionCore& session);
  // Its uses have come to 0: take_dropped() will return it. False if close() has been called.
  bool drop(TensorState& tensor);
  // Those that were dropped since the last call, linked by `next`.
  TensorState* take_dropped() { return dropped_.exchange(nullptr); }
  // The same for the last time: nobody will take others.
  TensorState* close();
  // Nothing refers to the tensor any more.
  void give_back(TensorState& tensor);

 private:
  std::vector<std::unique_ptr<TensorState[]>> slabs_;
  TensorState* free_ = nullptr;
  std::atomic<TensorState*> dropped_ = nullptr;
  std::atomic<TensorState*> returned_ = nullptr;
};

}  // namespace troupe
