// Which calls of a session fit one window, so that what it makes fits the memories.
#pragma once

#include "actors/session/session_tensors.hpp"
#include "actors/session/signatures.hpp"
#include "actors/session/tensor_state.hpp"
#include "core/base/saturating.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/machine/route.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

// A window is planned as a whole, and begins when all that it makes has room at the same time. So
// one that is too long would never begin, though its ops fit one after the other. A call counts
// with what it makes, and with a copy of each input wherever that isn't and may be moved to.
class WindowRoom {
 public:
  // The objects referred to must outlive it.
  WindowRoom(const Machine& machine, const SessionTensors& tensors);

  // A window begins that has no call yet. `graph` has the ops of its calls and of their inputs.
  void begin(const Graph& graph);
  // Adds a call to the window, unless the window might need more than a memory has then. Whether it
  // was added.
  bool add(const Signature& signature, std::span<TensorState* const> inputs);
  // Looks at the call that add() has refused as placed here.
  void count(const Signature& signature, std::span<TensorState* const> inputs,
             const Placement& placement);
  // Whether all inputs of that call can be copied to this memory.
  bool can_reach(std::span<TensorState* const> inputs, MemoryId m);
  // What that call needs in a memory; how much of it isn't there, since free_some(); and whether
  // it is short of this one, or of any.
  std::uint64_t needed_by_call(MemoryId m) const { return needed_by_call_[m.index()]; }
  std::uint64_t missing(MemoryId m) const {
    return needed_by_call_[m.index()] - std::min(needed_by_call_[m.index()], left_in(m));
  }
  bool is_short(MemoryId m) const { return missing(m) > 0; }
  bool is_any_short() const;
  void free_some(MemoryId m, std::uint64_t bytes) { available_[m.index()] += bytes; }
  // What that call would leave in this memory.
  std::uint64_t spare(MemoryId m) const {
    return left_in(m) - std::min(left_in(m), needed_by_call_[m.index()]);
  }

 private:
  std::uint64_t left_in(MemoryId m) const {
    return available_[m.index()] - std::min(available_[m.index()], needed_[m.index()]);
  }
  void count_call(const Signature& signature, std::span<TensorState* const> inputs,
                  const Placement& placement);
  void count_anywhere(const Signature& signature, std::span<TensorState* const> inputs);
  void count_copy(const TensorState& input, MemoryId target, bool ends_copy);
  void need(MemoryId m, std::uint64_t bytes) {
    std::uint64_t& needed = needed_by_call_[m.index()];
    needed = add_sat(needed, bytes);
  }
  bool is_in(const TensorState& input, MemoryId m) const;
  MemoryId home_of(const TensorState& input) const;

  const Machine& machine_;
  const SessionTensors& tensors_;
  std::vector<bool> has_device_;     // by memory
  std::vector<bool> is_on_the_way_;  // by memory: it joins links, and may get what others read
  std::optional<Router> router_;     // made when memory is first short
  const Graph* graph_ = nullptr;

  // Of the window. As long as its calls would fit the fullest memory, no other is looked at.
  std::uint64_t in_all_ = 0;  // what its calls make, and their inputs
  std::uint64_t least_ = 0;   // that a memory has available
  // By memory.
  std::vector<std::uint64_t> available_;
  std::vector<std::uint64_t> needed_;
  std::vector<std::uint64_t> needed_by_call_;
};

}  // namespace troupe
