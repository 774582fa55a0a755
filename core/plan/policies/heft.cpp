#include "core/plan/policies/heft.hpp"

#include "core/plan/policies/device_search.hpp"
#include "core/plan/policies/op_positions.hpp"
#include "core/plan/policies/transfer_times.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace troupe {
namespace {

class Heft {
 public:
  Heft(const PlacementRequest& request, Sight sight)
      : r_(request),
        sight_(sight),
        transfers_(request.machine, request.cost, request.router),
        positions_(request.ops) {
    if (!r_.waits.empty()) look_up_last_readers();
    search_.emplace(r_, transfers_, look_up_classes());
  }

  HeftSchedule place() {
    placed_.assign(r_.ops.size(), Placed{});
    std::size_t first = 0;
    for (const std::size_t wait : r_.waits) {
      place_window(first, wait);
      note_copies(first, wait);
      search_->wait_until(end_);
      first = wait;
    }
    place_window(first, r_.ops.size());
    HeftSchedule schedule;
    schedule.devices.reserve(placed_.size());
    schedule.ends.reserve(placed_.size());
    for (const Placed& p : placed_) {
      schedule.devices.push_back(p.device);
      schedule.ends.push_back(p.finish);
    }
    schedule.is_fastest = is_fastest_;
    return schedule;
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
  static constexpr std::uint32_t outside = OpPositions::outside;
  // Of a tensor that is in more memories, only the first is known: a search takes time in their
  // number.
  static constexpr std::size_t copies_max = 64;
  static constexpr std::size_t ahead_max = 1 << 24;  // ops times sorts of devices

  void look_up_last_readers() {
    last_reader_.assign(r_.graph.size(), 0);
    for (std::size_t i = 0; i < r_.ops.size(); ++i) {
      for (const OpId input : r_.graph.inputs(r_.ops[i])) {
        last_reader_[input.index()] = static_cast<std::uint32_t>(i);
      }
    }
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

  // Of the ops first to last - 1, within these: what is behind a wait waits for all of them.
  std::vector<Ranked> upward_ranks(std::size_t first, std::size_t last) {
    std::vector<Ranked> ranked;
    ranked.reserve(last - first);
    for (std::size_t i = first; i < last; ++i) {
      ranked.push_back({0, static_cast<std::uint32_t>(i)});
    }
    for (std::size_t i = last; i-- > first;) {
      const OpId op = r_.ops[i];
      double& rank = ranked[i - first].rank;
      rank += search_->mean_s(class_of_[i]);
      for (const OpId input : r_.graph.inputs(op)) {
        const std::uint32_t from = positions_.of(r_.graph.maker(input));
        if (from == outside || from < first) continue;
        double& before = ranked[from - first].rank;
        before = std::max(before, rank + mean_transfer_s(input));
      }
    }
    return ranked;
  }

  double mean_transfer_s(OpId tensor) {
    const std::uint32_t type = r_.graph.type_index(tensor);
    const auto [mean, is_new] = means_.try_emplace(type, 0.0);
    if (is_new) mean->second = transfers_.mean_s(r_.graph.types()[type].bytes());
    return mean->second;
  }

  // Fills ahead_ for the ops first to last - 1. What follows an op on a device is at best what its
  // readers and their readers take: each on a device of the same sort, or, behind a mean transfer,
  // of its best one.
  void look_ahead(std::size_t first, std::size_t last) {
    const auto devices = static_cast<double>(r_.machine.devices.size());
    const std::size_t sorts = search_->sort_count();
    if ((last - first) * sorts > ahead_max) return;
    ahead_.assign((last - first) * sorts, 0);
    std::vector<double> by_sort(sorts);
    for (std::size_t i = last; i-- > first;) {
      const double* const own = &ahead_[(i - first) * sorts];
      double best = std::numeric_limits<double>::infinity();
      for (std::size_t s = 0; s < sorts; ++s) {
        const std::optional<Duration> length = search_->length(class_of_[i], s);
        by_sort[s] = length ? own[s] + seconds(*length) : std::numeric_limits<double>::infinity();
        best = std::min(best, by_sort[s]);
      }
      if (r_.placement(r_.ops[i]).memory) {
        best = *std::min_element(own, own + sorts);
        by_sort.assign(sorts, best);
      }
      for (const OpId input : r_.graph.inputs(r_.ops[i])) {
        const std::uint32_t from = positions_.of(r_.graph.maker(input));
        if (from == outside || from < first) continue;
        const double elsewhere = best + mean_transfer_s(input) * devices / (devices - 1);
        double* const before = &ahead_[(from - first) * sorts];
        for (std::size_t s = 0; s < sorts; ++s) {
          before[s] = std::max(before[s], std::min(by_sort[s], elsewhere));
        }
      }
    }
  }
  // By sort.
  std::span<const Duration> after(std::size_t i, std::size_t first) {
    after_.clear();
    if (ahead_.empty()) return after_;
    const std::size_t sorts = search_->sort_count();
    for (std::size_t s = 0; s < sorts; ++s) {
      after_.push_back(from_seconds(ahead_[(i - first) * sorts + s]));
    }
    return after_;
  }

  // Equals stay as they are, so that inputs come first even where ops cost nothing.
  void place_window(std::size_t first, std::size_t last) {
    std::vector<Ranked> order = upward_ranks(first, last);
    std::stable_sort(order.begin(), order.end(),
                     [](const Ranked& a, const Ranked& b) { return a.rank > b.rank; });
    ahead_.clear();
    if (sight_ == Sight::ahead && search_->sort_count() > 1) look_ahead(first, last);
    for (const Ranked& next : order) place_one(next.position, first);
  }

  // Ops behind the wait find what the ops first to last - 1 read where these read it, and where it
  // came by. What a copy makes is another tensor.
  void note_copies(std::size_t first, std::size_t last) {
    Route route;
    for (std::size_t i = first; i < last; ++i) {
      for (const OpId input : r_.graph.inputs(r_.ops[i])) {
        if (last_reader_[input.index()] < last) continue;
        const MemoryId home = home_of(input);
        const MemoryId here = placed_[i].memory;
        if (!home || !here || home == here) continue;
        std::set<MemoryId>& copies = copies_[input];
        if (copies.size() > copies_max || copies.contains(here)) continue;
        if (!r_.router.find(home, here, route)) continue;
        if (r_.placement(r_.ops[i]).memory) route.pop_back();
        for (const Hop& hop : route) {
          const MemoryId memory = r_.machine.link(hop.link).target(hop.direction);
          if (r_.machine.memory(memory).kind != MemoryKind::network) copies.insert(memory);
        }
      }
    }
  }

  MemoryId home_of(OpId tensor) const {
    const std::uint32_t from = positions_.of(r_.graph.maker(tensor));
    return from == outside ? r_.home(tensor) : placed_[from].memory;
  }
  // Null if there are none, or too many.
  const std::set<MemoryId>* copies_of(OpId tensor) const {
    if (copies_.empty()) return nullptr;
    const auto found = copies_.find(tensor);
    return found == copies_.end() || found->second.size() > copies_max ? nullptr : &found->second;
  }

  // Fills sources_.
  void look_up_sources(OpId op) {
    sources_.clear();
    for (const OpId input : r_.graph.inputs(op)) {
      const std::uint32_t from = positions_.of(r_.graph.maker(input));
      const MemoryId memory = from == outside ? r_.home(input) : placed_[from].memory;
      if (!memory) continue;
      const Duration made = from == outside ? Duration{0} : placed_[from].finish;
      sources_.push_back({memory, made, r_.graph.type(input).bytes(), copies_of(input)});
    }
  }

  // Of a window that begins with the op `first`.
  void place_one(std::size_t i, std::size_t first) {
    const OpId op = r_.ops[i];
    look_up_sources(op);
    if (const MemoryId target = r_.placement(op).memory; target) {
      placed_[i] = {DeviceId::none(), target, search_->ready(sources_, target)};
      end_ = std::max(end_, placed_[i].finish);
      return;
    }
    const Opening opening = search_->find(op, class_of_[i], sources_, after(i, first));
    if (!opening.device) return;
    search_->take(opening);
    if (opening.finish - opening.start > search_->shortest(class_of_[i])) is_fastest_ = false;
    r_.reachability.choose(op, opening.device);
    end_ = std::max(end_, opening.finish);
    placed_[i] = {opening.device, r_.machine.device(opening.device).memory, opening.finish};
  }

  const PlacementRequest& r_;
  const Sight sight_;
  TransferTimes transfers_;
  const OpPositions positions_;
  std::vector<std::uint32_t> class_of_;  // by position
  std::optional<DeviceSearch> search_;
  std::unordered_map<std::uint32_t, double> means_;  // of transfers, by type
  std::vector<Placed> placed_;                       // by position
  Duration end_{0};                                  // of all that are placed
  bool is_fastest_ = true;
  std::vector<std::uint32_t> last_reader_;               // by op: its position; if there are waits
  std::unordered_map<OpId, std::set<MemoryId>> copies_;  // at the last wait
  std::vector<DeviceSearch::Source> sources_;            // of the op to place
  std::vector<double> ahead_;                            // s, of the window: by op and sort
  std::vector<Duration> after_;                          // of the op to place: by sort
};

}  // namespace

HeftSchedule heft_schedule(const PlacementRequest& request, Sight sight) {
  return Heft(request, sight).place();
}

}  // namespace troupe
