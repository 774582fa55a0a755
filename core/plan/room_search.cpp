#include "core/plan/room_search.hpp"

#include "core/base/saturating.hpp"
#include "core/plan/memory_order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace troupe {
namespace {

// Follows what is in each memory while ops run in graph order, as MemoryOrder does for units.
// Tensors in memories between two others are left out: they are on their way.
class RoomSearch {
 public:
  using Move = std::function<void(OpId, DeviceId)>;

  RoomSearch(const RoomRequest& request, const Move& move)
      : r_(request),
        move_(move),
        used_(request.machine.memories.size(), 0),
        moved_to_(request.machine.devices.size(), 0) {}

  void run() {
    each_op([this](OpId op, bool) {
      const MemoryId memory = memory_of(r_.placement(op).device);
      for (const OpId input : r_.graph.inputs(op)) ++reads(input, memory);
    });
    std::vector<bool> is_made(r_.graph.size(), false);
    for (const WindowOps& window : r_.windows) {
      for (const OpId op : window.ops) is_made[op.index()] = true;
    }
    for (const OpId tensor : r_.idle) {
      if (!tensors_.contains(tensor)) use(r_.home(tensor), tensor);
    }
    for (auto& [tensor, state] : tensors_) {
      if (!is_made[tensor.index()]) appear(tensor, state, r_.home(tensor));
    }
    each_op([this](OpId op, bool timed) { play(op, timed); });
  }

 private:
  // Where ops read a tensor.
  struct Place {
    MemoryId memory;
    std::uint32_t left = 0;  // reads to come
    bool has_copy = false;
  };
  struct Tensor {
    MemoryId home;                  // none: it isn't there yet, or any more
    std::uint32_t copies_left = 0;  // reads to come by ops that copy it, wherever it is
    std::vector<Place> places = {};
  };

  template <class F>
  void each_op(const F& f) const {
    for (const WindowOps& window : r_.windows) {
      for (const OpId op : window.ops) {
        if (r_.graph.output_number(op) == 0) f(op, window.timed);
      }
    }
  }

  MemoryId memory_of(DeviceId device) const {
    return device ? r_.machine.device(device).memory : MemoryId::none();
  }
  std::uint64_t bytes(OpId tensor) const { return r_.graph.type(tensor).bytes(); }
  std::size_t outputs(OpId op) const { return 1 + r_.graph.op_class(op).further; }

  // `memory`: none for an op that copies.
  std::uint32_t& reads(OpId tensor, MemoryId memory) {
    Tensor& state = tensors_[tensor];
    return memory ? place(state, memory).left : state.copies_left;
  }
  static Place& place(Tensor& state, MemoryId memory) {
    const auto found = std::ranges::find(state.places, memory, &Place::memory);
    if (found != state.places.end()) return *found;
    return state.places.emplace_back(Place{.memory = memory});
  }

  void use(MemoryId memory, OpId tensor) {
    used_[memory.index()] = add_sat(used_[memory.index()], bytes(tensor));
  }
  void free(MemoryId memory, OpId tensor) {
    used_[memory.index()] -= std::min(used_[memory.index()], bytes(tensor));
  }
  std::uint64_t room(MemoryId m) const {
    const Memory& memory = r_.machine.memory(m);
    if (is_unlimited(memory)) return std::numeric_limits<std::uint64_t>::max();
    return memory.size_bytes - std::min(memory.size_bytes, used_[m.index()]);
  }

  void appear(OpId tensor, Tensor& state, MemoryId home) {
    state.home = home;
    use(home, tensor);
  }
  // Frees what nobody needs any more.
  void settle(OpId tensor) {
    Tensor& state = tensors_[tensor];
    bool is_needed_at_home = state.copies_left > 0 || r_.is_kept(tensor);
    for (Place& p : state.places) {
      if (p.has_copy && p.left == 0) {
        p.has_copy = false;
        free(p.memory, tensor);
      }
      is_needed_at_home = is_needed_at_home || (p.left > 0 && !p.has_copy);
    }
    if (is_needed_at_home || !state.home) return;
    free(state.home, tensor);
    state.home = MemoryId::none();
  }

  bool needs_copy(OpId tensor, MemoryId memory) const {
    const Tensor& state = tensors_.at(tensor);
    if (state.home == memory) return false;
    return std::ranges::none_of(state.places,
                                [&](const Place& p) { return p.memory == memory && p.has_copy; });
  }
  // What an op takes of a memory in which it runs.
  std::uint64_t need(OpId op, MemoryId memory) const {
    std::uint64_t need = 0;
    for (std::size_t k = 0; k < outputs(op); ++k) {
      need = add_sat(need, bytes(OpId::at(op.index() + k)));
    }
    const auto inputs = r_.graph.inputs(op);
    for (auto input = inputs.begin(); input != inputs.end(); ++input) {
      const bool is_known = std::find(inputs.begin(), input, *input) != input;
      if (!is_known && needs_copy(*input, memory)) need = add_sat(need, bytes(*input));
    }
    return need;
  }

  DeviceId find_device(OpId op, bool timed, DeviceId from) const {
    const MemoryId here = memory_of(from);
    if (need(op, here) <= room(here)) return from;
    DeviceId best = from;
    std::uint64_t most = 0;
    for (std::size_t d = 0; d < r_.machine.devices.size(); ++d) {
      const DeviceId device = DeviceId::at(d);
      const MemoryId memory = memory_of(device);
      if (memory == here || !r_.can_run(device, op, timed)) continue;
      const std::uint64_t needed = need(op, memory);
      if (needed > room(memory)) continue;
      const std::uint64_t left = room(memory) - needed;
      const bool is_better =
          best == from || left > most || (left == most && moved_to_[d] < moved_to_[best.index()]);
      if (!is_better) continue;
      best = device;
      most = left;
    }
    return best;
  }

  void move(OpId op, DeviceId from, DeviceId to) {
    ++moved_to_[to.index()];
    for (std::size_t k = 0; k < outputs(op); ++k) move_(OpId::at(op.index() + k), to);
    for (const OpId input : r_.graph.inputs(op)) {
      --reads(input, memory_of(from));
      ++reads(input, memory_of(to));
      settle(input);
    }
  }

  void play(OpId op, bool timed) {
    const Placement placed = r_.placement(op);
    DeviceId device = placed.device;
    if (device && r_.is_open(op)) {
      device = find_device(op, timed, device);
      if (device != placed.device) move(op, placed.device, device);
    }
    const MemoryId memory = device ? memory_of(device) : placed.memory;
    const auto inputs = r_.graph.inputs(op);
    for (const OpId input : inputs) {
      if (!device || !needs_copy(input, memory)) continue;
      place(tensors_[input], memory).has_copy = true;
      use(memory, input);
    }
    for (std::size_t k = 0; k < outputs(op); ++k) {
      const OpId made = OpId::at(op.index() + k);
      appear(made, tensors_[made], memory);
    }
    for (const OpId input : inputs) {
      --reads(input, memory_of(device));
      settle(input);
    }
  }

  const RoomRequest& r_;
  const Move& move_;
  std::vector<std::uint64_t> used_;      // by memory
  std::vector<std::uint32_t> moved_to_;  // by device: ops
  std::unordered_map<OpId, Tensor> tensors_;
};

}  // namespace

void search_room(const RoomRequest& request, const std::function<void(OpId, DeviceId)>& move) {
  RoomSearch(request, move).run();
}

}  // namespace troupe
