#include "actors/session/window_room.hpp"

#include "core/plan/placement.hpp"

#include <algorithm>

namespace troupe {

WindowRoom::WindowRoom(const Machine& machine, const SessionTensors& tensors)
    : machine_(machine),
      tensors_(tensors),
      has_device_(machine.memories.size(), false),
      is_on_the_way_(machine.memories.size(), false),
      available_(machine.memories.size()),
      needed_(machine.memories.size()),
      needed_by_call_(machine.memories.size()) {
  for (const Device& device : machine.devices) has_device_[device.memory.index()] = true;
  std::vector<int> links(machine.memories.size(), 0);
  for (const Link& link : machine.links) {
    for (const MemoryId end : {link.a, link.b}) {
      const bool stays = machine.memory(end).kind != MemoryKind::network;
      is_on_the_way_[end.index()] = stays && ++links[end.index()] > 1;
    }
  }
}

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
  in_all_ = add_sat(in_all_, add_sat(signature.bytes_made, signature.bytes_read));
  if (in_all_ <= least_) return true;
  // Until now every memory had room for all of it.
  if (before <= least_) std::fill(needed_.begin(), needed_.end(), before);
  std::fill(needed_by_call_.begin(), needed_by_call_.end(), 0);
  if (is_given(signature.op_template.placement)) {
    count_call(signature, inputs, signature.op_template.placement);
  } else {
    count_anywhere(signature, inputs);
  }
  if (is_any_short()) return false;
  for (std::size_t m = 0; m < needed_.size(); ++m) needed_[m] += needed_by_call_[m];
  return true;
}

void WindowRoom::count(const Signature& signature, std::span<TensorState* const> inputs,
                       const Placement& placement) {
  std::fill(needed_by_call_.begin(), needed_by_call_.end(), 0);
  count_call(signature, inputs, placement);
}

bool WindowRoom::can_reach(std::span<TensorState* const> inputs, MemoryId m) {
  if (!router_) router_.emplace(machine_);
  Route route;
  return std::ranges::all_of(inputs, [&](const TensorState* input) {
    return is_in(*input, m) || router_->find(home_of(*input), m, route);
  });
}

bool WindowRoom::is_any_short() const {
  for (std::size_t m = 0; m < needed_.size(); ++m) {
    if (is_short(MemoryId::at(m))) return true;
  }
  return false;
}

void WindowRoom::count_call(const Signature& signature, std::span<TensorState* const> inputs,
                            const Placement& placement) {
  const bool ends_copy{placement.memory};
  const MemoryId target = ends_copy ? placement.memory : machine_.device(placement.device).memory;
  need(target, signature.bytes_made);
  for (const TensorState* const input : inputs) {
    if (!is_in(*input, target)) {
      count_copy(*input, target, ends_copy);
    } else if (ends_copy && !has_device_[target.index()]) {
      // It goes by way of another memory: see UnitBuilder::add_copy().
      const MemoryId nearest = nearest_memory(machine_, target);
      if (nearest && !is_in(*input, nearest)) need(nearest, graph_->type(input->op).bytes());
    }
  }
}

// A policy may choose any device.
void WindowRoom::count_anywhere(const Signature& signature, std::span<TensorState* const> inputs) {
  for (std::size_t m = 0; m < has_device_.size(); ++m) {
    if (has_device_[m]) need(MemoryId::at(m), signature.bytes_made);
    if (!has_device_[m] && !is_on_the_way_[m]) continue;
    for (const TensorState* const input : inputs) {
      if (!is_in(*input, MemoryId::at(m))) need(MemoryId::at(m), graph_->type(input->op).bytes());
    }
  }
}

// In all memories on the way, too. What a copy makes is counted already.
void WindowRoom::count_copy(const TensorState& input, MemoryId target, bool ends_copy) {
  const std::uint64_t bytes = graph_->type(input.op).bytes();
  const MemoryId home = home_of(input);
  if (!router_) router_.emplace(machine_);
  Route route;
  if (!home || !router_->find(home, target, route)) {
    if (!ends_copy) need(target, bytes);
    return;
  }
  for (const Hop& hop : route) {
    const MemoryId next = machine_.link(hop.link).target(hop.direction);
    if (!is_in(input, next) && !(ends_copy && next == target)) need(next, bytes);
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
