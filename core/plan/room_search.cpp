#include "core/plan/room_search.hpp"

#include "core/base/saturating.hpp"
#include "core/plan/memory_order.hpp"
#include "core/plan/policies/transfer_times.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// Follows what is in each memory while ops run in graph order, as MemoryOrder does for units.
class RoomSearch {
 public:
  using Move = std::function<void(OpId, DeviceId)>;

  RoomSearch(const RoomRequest& request, const Move& move)
      : r_(request),
        move_(move),
        transfers_(request.machine, request.cost, request.router),
        rooms_(request.machine.memories.size()),
        busy_(request.machine.devices.size(), Duration{0}),
        present_(request.machine.memories.size(), 0) {}

  void run() {
    constexpr int rounds_max = 4;
    for (int round = 0; round < rounds_max; ++round) {
      begin();
      for_each_op([this](OpId op, bool timed) { play(op, timed); });
      bool is_any_short = false;
      for (Room& room : rooms_) {
        is_any_short = is_any_short || room.lacking > 0;
        room.margin = add_sat(room.margin, room.lacking);
      }
      if (!is_any_short) return;
    }
  }

 private:
  struct Room {
    std::uint64_t fresh = 0;    // never used yet
    std::uint64_t free = 0;     // that, and what was freed
    std::uint64_t lacking = 0;  // at most, for an op that stays
    std::uint64_t margin = 0;   // that ops which may be moved leave to others
  };
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
  // Of a class of ops.
  struct OpTimes {
    std::vector<std::optional<Duration>> on = {};  // by device; none: it can't run them
    Duration shortest = longest_duration;
  };

  template <class F>
  void for_each_op(const F& f) const {
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
  bool are_on_one_node(MemoryId a, MemoryId b) const {
    return r_.machine.memory(a).node == r_.machine.memory(b).node;
  }

  void begin() {
    tensors_.clear();
    for (std::size_t m = 0; m < rooms_.size(); ++m) {
      const Memory& memory = r_.machine.memories[m];
      const std::uint64_t size = is_unlimited(memory) ? no_limit : memory.size_bytes;
      rooms_[m] = {.fresh = size, .free = size, .margin = rooms_[m].margin};
    }
    idlest_.clear();
    for (std::size_t d = 0; d < busy_.size(); ++d) {
      busy_[d] = Duration{0};
      idlest_.emplace(busy_[d], DeviceId::at(d));
    }
    for_each_op([this](OpId op, bool) {
      const MemoryId memory = memory_of(r_.placement(op).device);
      for (const OpId input : r_.graph.inputs(op)) ++reads(input, memory);
    });
    for (const auto& [tensor, memory] : r_.existing) {
      take(memory, bytes(tensor));
      Tensor& state = tensors_[tensor];
      if (state.home) {
        place(state, memory).has_copy = true;
      } else {
        state.home = memory;
      }
    }
    for (const auto& [tensor, memory] : r_.existing) settle(tensor);
    // What was there is no longer new, but nobody has to be waited for.
    for (Room& room : rooms_) room.fresh = room.free;
  }

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

  void take(MemoryId memory, std::uint64_t bytes) {
    Room& room = rooms_[memory.index()];
    if (room.free == no_limit) return;
    room.fresh -= std::min(room.fresh, bytes);
    room.free -= std::min(room.free, bytes);
  }
  void free(MemoryId memory, std::uint64_t bytes) {
    Room& room = rooms_[memory.index()];
    if (room.free != no_limit) room.free += bytes;
  }
  // Frees what nobody needs any more.
  void settle(OpId tensor) {
    Tensor& state = tensors_[tensor];
    bool is_needed_at_home = state.copies_left > 0 || r_.is_kept(tensor);
    for (Place& p : state.places) {
      if (p.has_copy && p.left == 0) {
        p.has_copy = false;
        free(p.memory, bytes(tensor));
      }
      is_needed_at_home = is_needed_at_home || (p.left > 0 && !p.has_copy);
    }
    if (is_needed_at_home || !state.home) return;
    free(state.home, bytes(tensor));
    state.home = MemoryId::none();
  }

  // What an op reads, each tensor once, what it makes, and what of that is in which memory.
  void look_at(OpId op) {
    const auto inputs = r_.graph.inputs(op);
    inputs_.assign(inputs.begin(), inputs.end());
    std::ranges::sort(inputs_);
    inputs_.erase(std::unique(inputs_.begin(), inputs_.end()), inputs_.end());
    for (const MemoryId memory : with_inputs_) present_[memory.index()] = 0;
    with_inputs_.clear();
    makes_ = 0;
    for (std::size_t k = 0; k < outputs(op); ++k) {
      makes_ = add_sat(makes_, bytes(OpId::at(op.index() + k)));
    }
    reads_ = 0;
    source_ = MemoryId::none();
    std::uint64_t largest = 0;
    for (const OpId input : inputs_) {
      const std::uint64_t size = bytes(input);
      reads_ = add_sat(reads_, size);
      const auto is_in = [&](MemoryId memory) {
        with_inputs_.push_back(memory);
        present_[memory.index()] = add_sat(present_[memory.index()], size);
      };
      const Tensor& state = tensors_.at(input);
      if (state.home) is_in(state.home);
      if (state.home && size > largest) source_ = state.home;
      largest = std::max(largest, size);
      for (const Place& p : state.places) {
        if (p.has_copy && p.memory != state.home) is_in(p.memory);
      }
    }
  }
  std::uint64_t copied_to(MemoryId memory) const {
    return reads_ - std::min(reads_, present_[memory.index()]);
  }
  bool needs_copy(const Tensor& state, MemoryId memory) const {
    if (state.home == memory) return false;
    return std::ranges::none_of(state.places,
                                [&](const Place& p) { return p.memory == memory && p.has_copy; });
  }
  // Of an op in a memory: what is missing there, more than `margin`.
  std::uint64_t lacks(MemoryId memory, std::uint64_t margin) const {
    const Room& room = rooms_[memory.index()];
    const std::uint64_t copied = copied_to(memory);
    const std::uint64_t needed = add_sat(add_sat(makes_, copied), margin);
    const std::uint64_t lacking = needed - std::min(needed, room.free);
    if (r_.waits_across_nodes || copied == 0) return lacking;
    std::uint64_t from_others = 0;
    for (const OpId input : inputs_) {
      const Tensor& state = tensors_.at(input);
      const bool is_from_other =
          needs_copy(state, memory) && state.home && !are_on_one_node(state.home, memory);
      if (is_from_other) from_others = add_sat(from_others, bytes(input));
    }
    return std::max(lacking, from_others - std::min(from_others, room.fresh));
  }

  const OpTimes& times_of(OpId op, bool timed) {
    const auto [found, is_new] = times_.try_emplace({r_.graph.class_index(op), timed});
    OpTimes& times = found->second;
    if (!is_new) return times;
    for (std::size_t d = 0; d < busy_.size(); ++d) {
      std::optional<Duration>& time = times.on.emplace_back();
      if (!r_.can_run(DeviceId::at(d), op, timed)) continue;
      time =
          std::min(r_.cost.op(DeviceId::at(d), r_.graph, r_.graph.op_class(op)), longest_duration);
      times.shortest = std::min(times.shortest, *time);
    }
    return times;
  }
  // As if all came from where the largest input is.
  Duration time_to_copy_to(MemoryId memory) {
    const std::uint64_t copied = copied_to(memory);
    return copied == 0 || !source_ ? Duration{0} : transfers_.between(source_, memory, copied);
  }

  DeviceId find_device(OpId op, bool timed, DeviceId from) {
    const MemoryId here = memory_of(from);
    if (lacks(here, rooms_[here.index()].margin) == 0) return from;
    const OpTimes& times = times_of(op, timed);
    DeviceId best = from;
    Duration end = longest_duration;
    for (const auto& [busy, device] : idlest_) {
      if (sum_of(busy, times.shortest) >= end) break;
      const MemoryId memory = memory_of(device);
      const std::optional<Duration>& time = times.on[device.index()];
      if (memory == here || !time || lacks(memory, rooms_[memory.index()].margin) > 0) continue;
      if (!r_.reaches(device, op)) continue;
      const Duration its_end = sum_of(busy, sum_of(*time, time_to_copy_to(memory)));
      if (its_end >= end) continue;
      best = device;
      end = its_end;
    }
    return best;
  }

  void move(OpId op, DeviceId from, DeviceId to) {
    for (std::size_t k = 0; k < outputs(op); ++k) move_(OpId::at(op.index() + k), to);
    for (const OpId input : r_.graph.inputs(op)) {
      --reads(input, memory_of(from));
      ++reads(input, memory_of(to));
      settle(input);
    }
  }

  void occupy(DeviceId device, OpId op, bool timed) {
    const Duration time = times_of(op, timed).on[device.index()].value_or(Duration{0});
    Duration& busy = busy_[device.index()];
    idlest_.erase({busy, device});
    busy = sum_of(busy, time);
    idlest_.emplace(busy, device);
  }

  // To the memory of an op that reads it. It stays in a memory on the way if ops read it there.
  void copy(OpId tensor, MemoryId target) {
    Tensor& state = tensors_[tensor];
    if (state.home && r_.router.find(state.home, target, route_)) {
      for (const Hop& hop : route_) {
        const MemoryId memory = r_.machine.link(hop.link).target(hop.direction);
        const auto p = std::ranges::find(state.places, memory, &Place::memory);
        const bool is_read = p != state.places.end() && p->left > 0 && !p->has_copy;
        if (memory == target || !is_read) continue;
        p->has_copy = true;
        take(memory, bytes(tensor));
      }
    }
    place(state, target).has_copy = true;
    take(target, bytes(tensor));
  }

  void play(OpId op, bool timed) {
    const Placement placed = r_.placement(op);
    look_at(op);
    DeviceId device = placed.device;
    if (device && r_.is_open(op)) {
      device = find_device(op, timed, device);
      if (device != placed.device) {
        move(op, placed.device, device);
        look_at(op);
      }
    }
    const MemoryId memory = device ? memory_of(device) : placed.memory;
    Room& room = rooms_[memory.index()];
    if (!device) reads_ = 0;  // links carry it out: the copy is what it makes
    room.lacking = std::max(room.lacking, lacks(memory, 0));
    for (const OpId input : inputs_) {
      if (device && needs_copy(tensors_[input], memory)) copy(input, memory);
    }
    take(memory, makes_);
    for (std::size_t k = 0; k < outputs(op); ++k) {
      tensors_[OpId::at(op.index() + k)].home = memory;
    }
    for (const OpId input : r_.graph.inputs(op)) {
      --reads(input, memory_of(device));
      settle(input);
    }
    if (device) occupy(device, op, timed);
  }

  const RoomRequest& r_;
  const Move& move_;
  TransferTimes transfers_;
  std::vector<Room> rooms_;                         // by memory
  std::vector<Duration> busy_;                      // by device: with what was played
  std::set<std::pair<Duration, DeviceId>> idlest_;  // the same, in order
  std::unordered_map<OpId, Tensor> tensors_;
  std::map<std::pair<std::uint32_t, bool>, OpTimes> times_;  // by class of ops, timed or not

  // Of the op that is looked at.
  std::vector<OpId> inputs_;
  std::uint64_t makes_ = 0;             // bytes
  std::uint64_t reads_ = 0;             // bytes
  std::vector<std::uint64_t> present_;  // by memory: of the bytes read
  std::vector<MemoryId> with_inputs_;   // memories that have any
  MemoryId source_;                     // of the largest input
  Route route_;
};

}  // namespace

void search_room(const RoomRequest& request, const std::function<void(OpId, DeviceId)>& move) {
  RoomSearch(request, move).run();
}

}  // namespace troupe
