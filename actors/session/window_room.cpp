#include "actors/session/window_room.hpp"

#include "core/plan/placement.hpp"

#include <algorithm>

namespace troupe {

WindowRoom::WindowRoom(const Machine& machine, const SessionTensors& tensors)
    : machine_(machine),
      tensors_(tensors),
      available_(machine.memories.size()),
      needed_(machine.memories.size()),
      needed_by_call_(machine.memories.size()) {}

void WindowRoom::begin(const Graph& graph) {
  graph_ = &graph;
  in_all_ = 0;
  for (std::size_t m = 0; m < available_.size(); ++m) {
    available_[m] = tensors_.bytes_available(MemoryId::at(m));
  }
  least_ = *std::min_element(available_.begin(), available_.end());
}

bool WindowRoom::add(const Signature& signature, std::span<TensorState* const> inputs) {
  const std::uint64_t before = in_all_;
  in_all_ += signature.bytes_made + signature.bytes_read;
  if (in_all_ <= least_) return true;
  // Until now every memory had room for all of it.
  if (before <= least_) std::fill(needed_.begin(), needed_.end(), before);
  std::fill(needed_by_call_.begin(), needed_by_call_.end(), 0);
  count_call(signature, inputs);
  for (std::size_t m = 0; m < needed_.size(); ++m) {
    if (is_short(MemoryId::at(m))) return false;
  }
  for (std::size_t m = 0; m < needed_.size(); ++m) needed_[m] += needed_by_call_[m];
  return true;
}

void WindowRoom::count_call(const Signature& signature, std::span<TensorState* const> inputs) {
  const Placement& placement = signature.op_template.placement;
  if (!is_given(placement)) {  // a policy may choose any device
    const std::uint64_t all = signature.bytes_made + signature.bytes_read;
    std::fill(needed_by_call_.begin(), needed_by_call_.end(), all);
    return;
  }
  const MemoryId target =
      placement.memory ? placement.memory : machine_.device(placement.device).memory;
  needed_by_call_[target.index()] += signature.bytes_made;
  for (const TensorState* const input : inputs) {
    if (!is_in(*input, target)) count_copy(*input, target);
  }
}

// In all memories on the way, too.
void WindowRoom::count_copy(const TensorState& input, MemoryId target) {
  const std::uint64_t bytes = graph_->type(input.op).bytes();
  const MemoryId home = home_of(input);
  if (!router_) router_.emplace(machine_);
  Route route;
  if (!home || !router_->find(home, target, route)) {
    needed_by_call_[target.index()] += bytes;
    return;
  }
  for (const Hop& hop : route) {
    const MemoryId next = machine_.link(hop.link).target(hop.direction);
    if (!is_in(input, next)) needed_by_call_[next.index()] += bytes;
  }
}

bool WindowRoom::is_in(const TensorState& input, MemoryId m) const {
  if (input.copies.empty()) return home_of(input) == m;
  return std::any_of(input.copies.begin(), input.copies.end(), [&](const TensorState::Copy& copy) {
    return tensors_.memory(copy.replica) == m;
  });
}

// None if a policy has yet to choose the device that makes it.
MemoryId WindowRoom::home_of(const TensorState& input) const {
  if (!input.copies.empty()) return tensors_.memory(input.copies.front().replica);
  const Placement& placement = graph_->placement(input.op);
  if (placement.device) return machine_.device(placement.device).memory;
  return placement.memory;
}

}  // namespace troupe
