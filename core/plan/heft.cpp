#include "core/plan/heft.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace troupe {
namespace {

// Longer than any transfer; short enough that a chain of a hundred thousand doesn't overflow.
constexpr Duration out_of_reach = std::chrono::hours(24);

struct Interval {
  Duration start;
  Duration end;
};

// The busy times of one stream, in order.
class Lane {
 public:
  // The earliest start, not before `ready`, of a gap of `length`.
  Duration earliest(Duration ready, Duration length) const {
    auto next = std::lower_bound(busy_.begin(), busy_.end(), ready,
                                 [](const Interval& i, Duration t) { return i.end <= t; });
    Duration start = ready;
    for (; next != busy_.end() && next->start < start + length; ++next) {
      start = std::max(start, next->end);
    }
    return start;
  }
  void take(Interval interval) {
    const auto after = std::lower_bound(busy_.begin(), busy_.end(), interval.start,
                                        [](const Interval& i, Duration t) { return i.start < t; });
    busy_.insert(after, interval);
  }

 private:
  std::vector<Interval> busy_;
};

class Heft {
 public:
  explicit Heft(const HeftRequest& request) : r_(request) {
    for (const Device& device : r_.machine.devices) {
      lanes_.emplace_back(static_cast<std::size_t>(device.streams));
    }
    for (std::size_t i = 0; i < r_.ops.size(); ++i) position_[r_.ops[i]] = i;
  }

  std::vector<DeviceId> place() {
    const std::vector<double> rank = upward_ranks();
    std::vector<std::size_t> order(r_.ops.size());
    std::iota(order.begin(), order.end(), 0U);
    // Graph order among equals, so that inputs come first even where ops cost nothing.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rank[a] > rank[b]; });
    placed_.assign(r_.ops.size(), Placed{});
    for (const std::size_t i : order) place_one(i);
    std::vector<DeviceId> devices;
    for (const Placed& p : placed_) devices.push_back(p.device);
    return devices;
  }

 private:
  struct Placed {
    DeviceId device;
    MemoryId memory;
    Duration finish{0};
  };

  bool is_candidate(DeviceId d, OpId op) const {
    const DeviceId fixed = r_.fixed(op);
    return fixed ? fixed == d : r_.can_run(d, op);
  }

  Duration time_on(DeviceId d, OpId op) const {
    return r_.cost.op(d, r_.graph, r_.graph.op_class(op));
  }

  Duration route_time(MemoryId from, MemoryId to, std::uint64_t bytes) const {
    const Route* route = r_.router.route(from, to);
    if (route == nullptr) return out_of_reach;
    Duration total{0};
    for (const Hop& hop : *route) {
      total += r_.cost.transfer(hop.link, hop.direction, bytes).total();
    }
    return total;
  }

  double mean_time(OpId op) const {
    if (r_.graph.kind(op).moves_data) return 0;
    double sum = 0;
    int count = 0;
    for (std::size_t d = 0; d < r_.machine.devices.size(); ++d) {
      if (!is_candidate(DeviceId::at(d), op)) continue;
      sum += seconds(time_on(DeviceId::at(d), op));
      ++count;
    }
    return count > 0 ? sum / count : 0;
  }

  // Mean over all pairs of devices, those that share a memory included.
  double mean_transfer(std::uint64_t bytes) const {
    double sum = 0;
    int count = 0;
    for (const Device& a : r_.machine.devices) {
      for (const Device& b : r_.machine.devices) {
        ++count;
        if (a.memory != b.memory) sum += seconds(route_time(a.memory, b.memory, bytes));
      }
    }
    return count > 0 ? sum / count : 0;
  }

  std::vector<double> upward_ranks() const {
    std::vector<double> rank(r_.ops.size(), 0);
    std::unordered_map<std::uint32_t, double> transfer;  // by type
    for (std::size_t i = r_.ops.size(); i-- > 0;) {
      const OpId op = r_.ops[i];
      rank[i] += mean_time(op);
      for (const OpId input : r_.graph.inputs(op)) {
        const auto known = position_.find(input);
        if (known == position_.end()) continue;
        const auto [cost, is_new] = transfer.try_emplace(r_.graph.type_index(input), 0.0);
        if (is_new) cost->second = mean_transfer(r_.graph.type(input).bytes());
        rank[known->second] = std::max(rank[known->second], rank[i] + cost->second);
      }
    }
    return rank;
  }

  // When all inputs of `op` can be in `memory`.
  Duration inputs_ready(OpId op, MemoryId memory) const {
    Duration ready{0};
    for (const OpId input : r_.graph.inputs(op)) {
      const auto known = position_.find(input);
      const MemoryId from =
          known == position_.end() ? r_.home(input) : placed_[known->second].memory;
      const Duration made = known == position_.end() ? Duration{0} : placed_[known->second].finish;
      if (!from) continue;
      ready = std::max(ready, made + route_time(from, memory, r_.graph.type(input).bytes()));
    }
    return ready;
  }

  void place_one(std::size_t i) {
    const OpId op = r_.ops[i];
    if (const MemoryId target = r_.graph.placement(op).memory; target) {
      placed_[i] = {DeviceId::none(), target, inputs_ready(op, target)};
      return;
    }
    Duration best_finish = Duration::max();
    Interval best_interval{};
    Lane* best_lane = nullptr;
    for (std::size_t d = 0; d < r_.machine.devices.size(); ++d) {
      const DeviceId device = DeviceId::at(d);
      if (!is_candidate(device, op)) continue;
      const Duration length = time_on(device, op);
      const Duration ready = inputs_ready(op, r_.machine.device(device).memory);
      for (Lane& lane : lanes_[d]) {
        const Duration start = lane.earliest(ready, length);
        if (start + length >= best_finish) continue;
        best_finish = start + length;
        best_interval = {start, best_finish};
        best_lane = &lane;
        placed_[i] = {device, r_.machine.device(device).memory, best_finish};
      }
    }
    if (best_lane != nullptr) best_lane->take(best_interval);
  }

  const HeftRequest& r_;
  std::vector<std::vector<Lane>> lanes_;  // by device
  std::unordered_map<OpId, std::size_t> position_;
  std::vector<Placed> placed_;
};

}  // namespace

std::vector<DeviceId> heft_placement(const HeftRequest& request) {
  return Heft(request).place();
}

}  // namespace troupe
