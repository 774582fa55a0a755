#include "core/plan/policies/simple_placements.hpp"

#include "core/plan/policies/op_positions.hpp"
#include "core/plan/policies/op_times.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

namespace troupe {
namespace {

// Ops of a request and where they are, as far as that is decided.
class Places {
 public:
  explicit Places(const PlacementRequest& request)
      : r_(request), positions_(request.ops), memory_(request.ops.size()) {
    devices_.reserve(r_.ops.size());
    for (const OpId op : r_.ops) {
      const Placement& given = r_.placement(op);
      memory_[devices_.size()] = given.device ? memory_of(given.device) : given.memory;
      devices_.push_back(given.device);
    }
  }

  bool is_open(std::size_t op) const {
    return !devices_[op] && !memory_[op] && !r_.placement(r_.ops[op]).memory;
  }
  MemoryId of_input(OpId input) const {
    const std::uint32_t from = positions_.of(r_.graph.maker(input));
    return from == OpPositions::outside ? r_.home(input) : memory_[from];
  }
  MemoryId memory_of(DeviceId device) const { return r_.machine.device(device).memory; }
  void put(std::size_t op, DeviceId device) {
    devices_[op] = device;
    memory_[op] = memory_of(device);
  }
  std::vector<DeviceId> take() { return std::move(devices_); }

 private:
  const PlacementRequest& r_;
  const OpPositions positions_;
  std::vector<DeviceId> devices_;
  std::vector<MemoryId> memory_;
};

// Open ops of one class.
struct OpClass {
  OpId op;  // one of them
  std::uint64_t count = 0;
  double mean_s = 0;  // over the devices that can run them
};

std::unordered_map<std::uint32_t, OpClass> open_classes(const PlacementRequest& r,
                                                        const Places& places) {
  std::unordered_map<std::uint32_t, OpClass> classes;
  for (std::size_t i = 0; i < r.ops.size(); ++i) {
    if (!places.is_open(i)) continue;
    OpClass& known = classes[r.graph.class_index(r.ops[i])];
    known.op = r.ops[i];
    ++known.count;
  }
  return classes;
}

class Blocks {
 public:
  Blocks(const PlacementRequest& request, Follow follow)
      : r_(request),
        follow_(follow),
        times_(request),
        places_(request),
        classes_(open_classes(request, places_)),
        work_s_(request.machine.devices.size(), 0),
        devices_at_(request.machine.memories.size()) {
    for (std::size_t d = 0; d < r_.machine.devices.size(); ++d) {
      devices_at_[places_.memory_of(DeviceId::at(d)).index()].push_back(DeviceId::at(d));
      all_.push_back(DeviceId::at(d));
    }
    look_up_speeds();
    if (follow_ == Follow::owners) count_readers();
  }

  std::vector<DeviceId> place() {
    double work_of_sources = 0;
    for (std::size_t i = 0; i < r_.ops.size(); ++i) {
      if (places_.is_open(i) && r_.graph.inputs(r_.ops[i]).empty()) {
        work_of_sources += class_of(i).mean_s;
      }
    }
    double before = 0;
    std::size_t block = 0;
    double speed_up_to_block = speed_.empty() ? 0 : speed_[0];
    for (std::size_t i = 0; i < r_.ops.size(); ++i) {
      const OpId op = r_.ops[i];
      if (!places_.is_open(i)) {
        if (const DeviceId given = r_.placement(op).device; given) note(op, given);
        continue;
      }
      DeviceId device;
      if (r_.graph.inputs(op).empty()) {
        // The op belongs to the block in which its middle is.
        const double middle = before + class_of(i).mean_s / 2;
        while (block + 1 < speed_.size() &&
               middle * all_speeds_ > work_of_sources * speed_up_to_block) {
          speed_up_to_block += speed_[++block];
        }
        before += class_of(i).mean_s;
        if (r_.can_run(DeviceId::at(block), op)) device = DeviceId::at(block);
      } else {
        device = where_most_is(op);
      }
      if (!device) device = least_busy(op, MemoryId::none());
      if (!device) continue;
      places_.put(i, device);
      note(op, device);
    }
    return places_.take();
  }

 private:
  using Load = std::pair<double, DeviceId>;
  using LeastLoaded = std::priority_queue<Load, std::vector<Load>, std::greater<>>;

  const OpClass& class_of(std::size_t op) const {
    return classes_.find(r_.graph.class_index(r_.ops[op]))->second;
  }
  double streams(DeviceId device) const {
    return static_cast<double>(r_.machine.device(device).streams);
  }

  void look_up_speeds() {
    std::vector<double> sums(all_.size(), 0);
    std::vector<double> counts(all_.size(), 0);
    for (auto& [index, known] : classes_) {
      double sum = 0;
      double count = 0;
      for (const DeviceId d : all_) {
        if (!r_.can_run(d, known.op)) continue;
        const double time = seconds(times_.on(d, known.op));
        sum += time;
        ++count;
        sums[d.index()] += time;
        ++counts[d.index()];
      }
      if (count > 0) known.mean_s = sum / count;
    }
    // Where all takes no time, a nanosecond keeps speeds finite.
    for (const DeviceId d : all_) {
      const double count = counts[d.index()];
      speed_.push_back(count == 0 ? 0 : streams(d) * count / std::max(sums[d.index()], 1e-9));
      all_speeds_ += speed_.back();
    }
  }

  void count_readers() {
    for (const OpId op : r_.ops) {
      for (const OpId input : r_.graph.inputs(op)) ++readers_[input];
    }
  }

  void note_copies(OpId reader, MemoryId memory) {
    for (const OpId input : r_.graph.inputs(reader)) {
      const MemoryId home = places_.of_input(input);
      if (!home || home == memory) continue;
      std::vector<MemoryId>& known = copies_[input];
      if (known.size() == copies_max || std::ranges::count(known, memory) > 0) continue;
      known.push_back(memory);
    }
  }

  void note(OpId op, DeviceId device) {
    work_s_[device.index()] += seconds(times_.on(device, op)) / streams(device);
    if (follow_ == Follow::bytes) note_copies(op, places_.memory_of(device));
  }

  void count(std::uint64_t bytes, MemoryId memory) {
    const auto known =
        std::find_if(at_.begin(), at_.end(), [&](const auto& at) { return at.second == memory; });
    if (known == at_.end()) {
      at_.emplace_back(bytes, memory);
    } else {
      known->first += bytes;
    }
  }

  // None if no device that can run the op has any of its inputs in its memory.
  DeviceId where_most_is(OpId op) {
    at_.clear();
    for (const OpId input : r_.graph.inputs(op)) {
      const MemoryId home = places_.of_input(input);
      if (!home) continue;
      const std::uint64_t bytes = r_.graph.type(input).bytes();
      if (follow_ == Follow::owners) {
        count(bytes / readers_.find(input)->second, home);
        continue;
      }
      count(bytes, home);
      const auto copies = copies_.find(input);
      if (copies == copies_.end()) continue;
      for (const MemoryId copy : copies->second) count(bytes, copy);
    }
    DeviceId best;
    std::uint64_t most = 0;
    for (const auto& [bytes, memory] : at_) {
      if (best && bytes < most) continue;
      const DeviceId device = least_busy(op, memory);
      if (!device) continue;
      const bool is_better =
          !best || bytes > most ||
          Load(work_s_[device.index()], device) < Load(work_s_[best.index()], best);
      if (!is_better) continue;
      best = device;
      most = bytes;
    }
    return best;
  }

  // Of the devices that can run the op, in one memory or in all. Work only grows, so what the queue
  // knows is at most what there is: the first one whose work is as known has the least.
  DeviceId least_busy(OpId op, MemoryId memory) {
    const std::uint64_t key = std::uint64_t{r_.graph.class_index(op)} << 32 | memory.value;
    const auto [found, is_new] = queues_.try_emplace(key);
    LeastLoaded& queue = found->second;
    if (is_new) {
      for (const DeviceId d : memory ? devices_at_[memory.index()] : all_) {
        if (r_.can_run(d, op)) queue.emplace(work_s_[d.index()], d);
      }
    }
    if (queue.empty()) return DeviceId::none();
    while (queue.top().first < work_s_[queue.top().second.index()]) {
      const DeviceId device = queue.top().second;
      queue.pop();
      queue.emplace(work_s_[device.index()], device);
    }
    return queue.top().second;
  }

  // Of a tensor that is in more memories, only the first count.
  static constexpr std::size_t copies_max = 8;

  const PlacementRequest& r_;
  const Follow follow_;
  OpTimes times_;
  Places places_;
  std::unordered_map<std::uint32_t, OpClass> classes_;
  std::vector<double> work_s_;  // by device, so far
  std::vector<DeviceId> all_;
  std::vector<std::vector<DeviceId>> devices_at_;  // by memory
  std::vector<double> speed_;                      // by device
  double all_speeds_ = 0;
  std::unordered_map<std::uint64_t, LeastLoaded> queues_;  // by class and memory
  std::unordered_map<OpId, std::uint32_t> readers_;        // of a tensor
  std::unordered_map<OpId, std::vector<MemoryId>> copies_;
  std::vector<std::pair<std::uint64_t, MemoryId>> at_;  // of the op to place: bytes
};

}  // namespace

std::optional<std::vector<DeviceId>> on_one_device(const PlacementRequest& request) {
  Places places(request);
  OpTimes times(request);
  const auto classes = open_classes(request, places);
  // What open ops read that others made.
  std::vector<std::uint64_t> bytes(request.machine.memories.size(), 0);
  for (std::size_t i = 0; i < request.ops.size(); ++i) {
    if (!places.is_open(i)) continue;
    for (const OpId input : request.graph.inputs(request.ops[i])) {
      const MemoryId memory = places.of_input(input);
      if (memory) bytes[memory.index()] += request.graph.type(input).bytes();
    }
  }
  DeviceId best;
  double least = 0;
  std::uint64_t most = 0;
  for (std::size_t d = 0; d < request.machine.devices.size(); ++d) {
    const DeviceId device = DeviceId::at(d);
    const auto can_run = [&](const auto& c) { return request.can_run(device, c.second.op); };
    if (!std::all_of(classes.begin(), classes.end(), can_run)) continue;
    double sum = 0;
    for (const auto& [index, known] : classes) {
      sum += static_cast<double>(known.count) * seconds(times.on(device, known.op));
    }
    sum /= static_cast<double>(request.machine.device(device).streams);
    const std::uint64_t here = bytes[places.memory_of(device).index()];
    if (best && (sum > least || (sum == least && here <= most))) continue;
    best = device;
    least = sum;
    most = here;
  }
  if (!best) return std::nullopt;
  for (std::size_t i = 0; i < request.ops.size(); ++i) {
    if (places.is_open(i)) places.put(i, best);
  }
  return places.take();
}

std::vector<DeviceId> in_blocks(const PlacementRequest& request, Follow follow) {
  return Blocks(request, follow).place();
}

}  // namespace troupe
