#include "actors/session/tensor_states.hpp"

#include <cstddef>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t slab_states = 1 << 10;

// Stands in the place of dropped tensors when nobody takes them any more.
TensorState closed_list;

// Returns false if the list is closed.
bool push(std::atomic<TensorState*>& list, TensorState& state) {
  TensorState* first = list.load(std::memory_order_relaxed);
  do {
    if (first == &closed_list) return false;
    state.next = first;
  } while (!list.compare_exchange_weak(first, &state));
  return true;
}

}  // namespace

void TensorStates::make_room(std::size_t count, SessionCore& session) {
  if (free_ == nullptr) free_ = returned_.exchange(nullptr);
  std::size_t found = 0;
  for (const TensorState* s = free_; s != nullptr && found < count; s = s->next) ++found;
  if (found == count) return;
  const auto put = [this](TensorState& state) { state.next = std::exchange(free_, &state); };
  for (TensorState* s = returned_.exchange(nullptr); s != nullptr; ++found) {
    put(*std::exchange(s, s->next));
  }
  for (; found < count; found += slab_states) {
    slabs_.push_back(std::make_unique<TensorState[]>(slab_states));
    for (std::size_t i = 0; i < slab_states; ++i) {
      slabs_.back()[i].session = &session;
      put(slabs_.back()[i]);
    }
  }
}

bool TensorStates::drop(TensorState& tensor) {
  return push(dropped_, tensor);
}

TensorState* TensorStates::close() {
  return dropped_.exchange(&closed_list);
}

void TensorStates::give_back(TensorState& tensor) {
  tensor.given.reset();
  push(returned_, tensor);
}

}  // namespace troupe
