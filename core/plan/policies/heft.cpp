#include "core/plan/policies/heft.hpp"

#include "core/plan/policies/device_search.hpp"
#include "core/plan/policies/transfer_times.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

namespace troupe {
namespace {

class Heft {
 public:
  explicit Heft(const PlacementRequest& request)
      : r_(request), transfers_(request.machine, request.cost, request.router) {
    look_up_positions();
    search_.emplace(r_, transfers_, look_up_classes());
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

  // Costs are those of classes: ops are many, classes few. Returns one op of each class.
  std::vector<OpId> look_up_classes() {
    std::vector<OpId> classes;
    std::unordered_map<std::uint32_t, std::uint32_t> known;
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
          known.try_emplace(op_class, static_cast<std::uint32_t>(classes.size()));
      if (is_new) classes.push_back(op);
      class_of_.push_back(found->second);
    }
    return classes;
  }

  std::vector<double> upward_ranks() {
    std::vector<double> rank(r_.ops.size(), 0);
    std::unordered_map<std::uint32_t, double> means;  // by type
    for (std::size_t i = r_.ops.size(); i-- > 0;) {
      const OpId op = r_.ops[i];
      rank[i] += search_->mean_s(class_of_[i]);
      for (const OpId input : r_.graph.inputs(op)) {
        const std::uint32_t from = position(r_.graph.maker(input));
        if (from == outside) continue;
        const std::uint32_t type = r_.graph.type_index(input);
        const auto [mean, is_new] = means.try_emplace(type, 0.0);
        if (is_new) mean->second = transfers_.mean_s(r_.graph.types()[type].bytes());
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
      sources_.push_back({memory, made, r_.graph.type(input).bytes()});
    }
  }

  void place_one(std::size_t i) {
    const OpId op = r_.ops[i];
    look_up_sources(op);
    if (const MemoryId target = r_.placement(op).memory; target) {
      placed_[i] = {DeviceId::none(), target, search_->ready(sources_, target)};
      return;
    }
    const Opening opening = search_->find(op, class_of_[i], sources_);
    if (!opening.device) return;
    search_->take(opening);
    r_.reachability.choose(op, opening.device);
    placed_[i] = {opening.device, r_.machine.device(opening.device).memory, opening.finish};
  }

  const PlacementRequest& r_;
  TransferTimes transfers_;
  OpId first_;                           // in the order of the graph
  std::vector<std::uint32_t> position_;  // by op, from first_ on
  std::vector<std::uint32_t> class_of_;  // by position
  std::optional<DeviceSearch> search_;
  std::vector<Placed> placed_;                 // by position
  std::vector<DeviceSearch::Source> sources_;  // of the op to place
};

}  // namespace

std::vector<DeviceId> heft_placement(const PlacementRequest& request) {
  return Heft(request).place();
}

}  // namespace troupe
