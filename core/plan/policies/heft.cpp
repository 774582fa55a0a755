#include "core/plan/policies/heft.hpp"

#include "core/plan/policies/lane_schedule.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace troupe {
namespace {

// Longer than any transfer. Stands for one between memories without a route.
constexpr Duration out_of_reach = std::chrono::hours(24);

// Later times are all the same: no run may take that long, and sums of two don't overflow.
constexpr Duration sum_of(Duration a, Duration b) {
  return std::min(a + b, longest_duration);
}

class Heft {
 public:
  explicit Heft(const PlacementRequest& request) : r_(request) {
    for (const Device& device : r_.machine.devices) {
      lanes_.emplace_back(static_cast<std::size_t>(device.streams));
    }
    look_up_positions();
    look_up_classes();
  }

  std::vector<DeviceId> place() {
    placed_.assign(r_.ops.size(), Placed{});
    for (const Ranked& next : by_rank()) place_one(next.position);
    std::vector<DeviceId> devices;
    devices.reserve(placed_.size());
    for (const Placed& p : placed_) devices.push_back(p.device);
    return devices;
  }

 private:
  struct Placed {
    DeviceId device;
    MemoryId memory;
    Duration finish{0};
  };
  struct Ranked {
    double rank;
    std::uint32_t position;
  };
  // A device that can run the ops of a class.
  struct Candidate {
    DeviceId device;
    MemoryId memory;
    Duration length;
  };
  struct ClassCosts {
    std::vector<Candidate> candidates;
    double mean_s = 0;
  };
  // An input of the op to place.
  struct Source {
    MemoryId memory;
    Duration made;
    std::uint32_t type;
  };
  static constexpr std::uint32_t outside = std::numeric_limits<std::uint32_t>::max();

  // Where each op stands in r_.ops.
  void look_up_positions() {
    if (r_.ops.empty()) return;
    const auto [first, last] = std::minmax_element(r_.ops.begin(), r_.ops.end());
    first_ = *first;
    position_.assign(last->index() - first->index() + 1, outside);
    for (std::size_t i = 0; i < r_.ops.size(); ++i) {
      position_[r_.ops[i].index() - first_.index()] = static_cast<std::uint32_t>(i);
    }
  }
  std::uint32_t position(OpId op) const {
    const std::size_t i = op.index() - first_.index();
    return op >= first_ && i < position_.size() ? position_[i] : outside;
  }

  // Costs are those of classes: ops are many, classes few.
  void look_up_classes() {
    std::unordered_map<std::uint32_t, std::uint32_t> known;  // places in costs_
    std::uint32_t last_class = 0;
    class_of_.reserve(r_.ops.size());
    for (const OpId op : r_.ops) {
      const std::uint32_t op_class = r_.graph.class_index(op);
      if (!class_of_.empty() && op_class == last_class) {
        class_of_.push_back(class_of_.back());
        continue;
      }
      last_class = op_class;
      const auto [found, is_new] =
          known.try_emplace(op_class, static_cast<std::uint32_t>(costs_.size()));
      if (is_new) costs_.push_back(class_costs(op));
      class_of_.push_back(found->second);
    }
  }

  ClassCosts class_costs(OpId op) const {
    ClassCosts costs;
    const DeviceId given = r_.placement(op).device;
    double sum = 0;
    for (std::size_t d = 0; d < r_.machine.devices.size(); ++d) {
      const DeviceId device = DeviceId::at(d);
      if (given ? given != device : !r_.can_run(device, op)) continue;
      const Duration length = time_on(device, op);
      costs.candidates.push_back({device, r_.machine.device(device).memory, length});
      sum += seconds(length);
    }
    const bool is_counted = !costs.candidates.empty() && !r_.graph.kind(op).moves_data;
    if (is_counted) costs.mean_s = sum / static_cast<double>(costs.candidates.size());
    return costs;
  }

  Duration time_on(DeviceId d, OpId op) const {
    return std::min(r_.cost.op(d, r_.graph, r_.graph.op_class(op)), longest_duration);
  }

  Duration hop_time(const Hop& hop, std::uint64_t bytes) const {
    return r_.cost.transfer(hop.link, hop.direction, bytes).total();
  }

  Duration route_time(MemoryId from, MemoryId to, std::uint64_t bytes) const {
    const Route* route = r_.router.route(from, to);
    if (route == nullptr) return out_of_reach;
    Duration total{0};
    for (const Hop& hop : *route) total = sum_of(total, hop_time(hop, bytes));
    return total;
  }

  // How long a tensor takes to another memory. The times looked up last are remembered.
  Duration transfer(std::uint32_t type, MemoryId from, MemoryId to) {
    if (from == to) return Duration{0};
    const std::size_t memories = r_.machine.memories.size();
    const std::uint64_t key = (type * memories + from.index()) * memories + to.index();
    KnownTransfer& known = transfers_[key % transfers_.size()];
    if (known.key != key) {
      known = {key, route_time(from, to, r_.graph.types()[type].bytes())};
    }
    return known.time;
  }

  // Mean over all pairs of devices, those that share a memory included.
  double mean_transfer(std::uint32_t type) {
    double sum = 0;
    int count = 0;
    for (const Device& a : r_.machine.devices) {
      for (const Device& b : r_.machine.devices) {
        ++count;
        if (a.memory != b.memory) sum += seconds(transfer(type, a.memory, b.memory));
      }
    }
    return count > 0 ? sum / count : 0;
  }

  std::vector<double> upward_ranks() {
    std::vector<double> rank(r_.ops.size(), 0);
    std::unordered_map<std::uint32_t, double> means;  // by type
    for (std::size_t i = r_.ops.size(); i-- > 0;) {
      const OpId op = r_.ops[i];
      rank[i] += costs_[class_of_[i]].mean_s;
      for (const OpId input : r_.graph.inputs(op)) {
        const std::uint32_t from = position(r_.graph.maker(input));
        if (from == outside) continue;
        const std::uint32_t type = r_.graph.type_index(input);
        const auto [mean, is_new] = means.try_emplace(type, 0.0);
        if (is_new) mean->second = mean_transfer(type);
        rank[from] = std::max(rank[from], rank[i] + mean->second);
      }
    }
    return rank;
  }

  // Equals stay as they are, so that inputs come first even where ops cost nothing.
  std::vector<Ranked> by_rank() {
    std::vector<Ranked> order;
    order.reserve(r_.ops.size());
    for (const double rank : upward_ranks()) {
      order.push_back({rank, static_cast<std::uint32_t>(order.size())});
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Ranked& a, const Ranked& b) { return a.rank > b.rank; });
    return order;
  }

  // Fills sources_.
  void look_up_sources(OpId op) {
    sources_.clear();
    for (const OpId input : r_.graph.inputs(op)) {
      const std::uint32_t from = position(r_.graph.maker(input));
      const MemoryId memory = from == outside ? r_.home(input) : placed_[from].memory;
      if (!memory) continue;
      const Duration made = from == outside ? Duration{0} : placed_[from].finish;
      sources_.push_back({memory, made, r_.graph.type_index(input)});
    }
  }

  // When all of sources_ can be in `memory`.
  Duration sources_ready(MemoryId memory) {
    Duration ready{0};
    for (const Source& source : sources_) {
      ready = std::max(ready, sum_of(source.made, transfer(source.type, source.memory, memory)));
    }
    return ready;
  }

  void place_one(std::size_t i) {
    const OpId op = r_.ops[i];
    look_up_sources(op);
    if (const MemoryId target = r_.placement(op).memory; target) {
      placed_[i] = {DeviceId::none(), target, sources_ready(target)};
      return;
    }
    Duration best_start{0};
    Duration best_finish = Duration::max();
    LaneSchedule* best_lane = nullptr;
    MemoryId memory;
    Duration ready{0};
    for (const Candidate& candidate : costs_[class_of_[i]].candidates) {
      if (!r_.reachability.allows(op, candidate.device)) continue;
      if (candidate.memory != memory) {
        memory = candidate.memory;
        ready = sources_ready(memory);
      }
      for (LaneSchedule& lane : lanes_[candidate.device.index()]) {
        const Duration start = lane.earliest(ready, candidate.length);
        const Duration finish = sum_of(start, candidate.length);
        if (finish >= best_finish) continue;
        best_start = start;
        best_finish = finish;
        best_lane = &lane;
        placed_[i] = {candidate.device, memory, finish};
      }
    }
    if (best_lane == nullptr) return;
    best_lane->take(best_start, best_finish - best_start);
    r_.reachability.choose(op, placed_[i].device);
  }

  struct KnownTransfer {
    std::uint64_t key = std::numeric_limits<std::uint64_t>::max();
    Duration time{0};
  };
  static constexpr std::size_t known_transfers_max = 1 << 12;

  const PlacementRequest& r_;
  std::vector<std::vector<LaneSchedule>> lanes_;  // by device
  OpId first_;                                    // in the order of the graph
  std::vector<std::uint32_t> position_;           // by op, from first_ on
  std::vector<ClassCosts> costs_;
  std::vector<std::uint32_t> class_of_;  // by position: in costs_
  std::vector<KnownTransfer> transfers_{known_transfers_max};
  std::vector<Placed> placed_;   // by position
  std::vector<Source> sources_;  // of the op to place
};

}  // namespace

std::vector<DeviceId> heft_placement(const PlacementRequest& request) {
  return Heft(request).place();
}

}  // namespace troupe
