#include "core/plan/policies/device_search.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace troupe {
namespace {

// A range with so few devices is not worth a search by rows.
constexpr std::size_t few_devices = 8;

}  // namespace

DeviceSearch::DeviceSearch(const PlacementRequest& request, TransferTimes& transfers,
                           std::span<const OpId> op_classes)
    : r_(request),
      tree_(request.router.tree()),
      transfers_(transfers),
      row_of_(request.machine.devices.size(), 0),
      visited_(request.machine.memories.size(), 0) {
  divide([this](DeviceId d) { return tree_.root(memory_of(d)).value; });
  for (const OpId op : op_classes) classes_.push_back(op_class_of(op));
  for (const std::uint64_t bytes : input_bytes_) divide_by_way(bytes);
  list_devices();
  for (OpClass& known : classes_) {
    if (known.given) continue;
    for (std::size_t row = 0; row < schedules_->row_count(); ++row) {
      known.length.push_back(time_on(schedules_->row(row)[0], known.op));
    }
  }
  look_up_sorts();
  for (std::size_t d = 0; d < r_.busy.size(); ++d) {
    if (r_.busy[d] > Duration{0}) take_all_streams(DeviceId::at(d), r_.busy[d]);
  }
}

void DeviceSearch::take_all_streams(DeviceId device, Duration until) {
  const auto streams = static_cast<std::size_t>(r_.machine.device(device).streams);
  for (std::size_t stream = 0; stream < streams; ++stream) {
    take({.device = device, .stream = stream, .start = Duration{0}, .finish = until});
  }
}

// Divides rows so that the devices of each have equal keys.
template <class Key>
void DeviceSearch::divide(const Key& key) {
  struct Hash {
    std::size_t operator()(const std::pair<std::uint32_t, std::int64_t>& p) const {
      return mix(static_cast<std::uint64_t>(p.second) + (std::uint64_t{p.first} << 40));
    }
  };
  std::unordered_map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t, Hash> known;
  for (std::size_t d = 0; d < row_of_.size(); ++d) {
    const std::pair<std::uint32_t, std::int64_t> now(row_of_[d], key(DeviceId::at(d)));
    row_of_[d] = known.try_emplace(now, static_cast<std::uint32_t>(known.size())).first->second;
  }
}

DeviceSearch::OpClass DeviceSearch::op_class_of(OpId op) {
  const Placement& placement = r_.placement(op);
  OpClass added{.op = op, .given = placement.device, .length = {}};
  double sum = 0;
  std::size_t count = 0;
  const auto add = [&](DeviceId device) {
    const std::optional<Duration> length = time_on(device, op);
    if (!length) return Duration{-1}.count();
    added.shortest = std::min(added.shortest, *length);
    sum += seconds(*length);
    ++count;
    return length->count();
  };
  if (placement.device) {
    add(placement.device);
    added.length.push_back(time_on(placement.device, op));
  } else if (!placement.memory) {
    divide(add);
    for (const OpId input : r_.graph.inputs(op)) {
      input_bytes_.insert(r_.graph.type(input).bytes());
    }
  }
  shortest_ = std::min(shortest_, added.shortest);
  if (count > 0 && !r_.graph.kind(op).moves_data) added.mean_s = sum / static_cast<double>(count);
  return added;
}

// None if the device can't run the op and wasn't given.
std::optional<Duration> DeviceSearch::time_on(DeviceId device, OpId op) const {
  if (!r_.placement(op).device && !r_.can_run(device, op)) return std::nullopt;
  return std::min(r_.cost.op(device, r_.graph, r_.graph.op_class(op)), longest_duration);
}

// By what the links to the device's memory from the root of its island take, one after the other.
// Routes from elsewhere into a region have in common what leads to its first memory, and what
// follows is the same for all. Equal sums would not do, since a tensor's chunks follow each other.
void DeviceSearch::divide_by_way(std::uint64_t bytes) {
  // The number of the way so far, and the next link's latency, time and chunks.
  using Leg = std::tuple<std::uint32_t, Duration, Duration, std::uint64_t>;
  std::map<Leg, std::uint32_t> known;
  std::vector<std::uint32_t> ways(r_.machine.memories.size(), 0);
  Route route;
  for (const MemoryId m : tree_.from_the_roots()) {
    const MemoryId gate = tree_.gate(m);
    if (!gate) continue;
    std::uint32_t way = ways[gate.index()];
    r_.router.find(gate, m, route);
    for (const Hop& hop : route) {
      const TransferCost cost = r_.cost.transfer(hop.link, hop.direction, bytes);
      const Leg leg(way, cost.latency, cost.wire, r_.machine.link(hop.link).chunk_bytes);
      const auto next = static_cast<std::uint32_t>(known.size() + 1);
      way = known.try_emplace(leg, next).first->second;
    }
    ways[m.index()] = way;
  }
  divide([&](DeviceId d) { return std::int64_t{ways[memory_of(d).index()]}; });
}

void DeviceSearch::list_devices() {
  std::size_t rows = 0;
  for (std::size_t d = 0; d < row_of_.size(); ++d) {
    listed_.push_back({tree_.begin(memory_of(DeviceId::at(d))), DeviceId::at(d)});
    rows = std::max<std::size_t>(rows, row_of_[d] + 1);
  }
  std::sort(listed_.begin(), listed_.end());
  first_at_.assign(r_.machine.memories.size() + 1, 0);
  for (const Listed& l : listed_) ++first_at_[l.position + 1];
  for (std::size_t p = 1; p < first_at_.size(); ++p) first_at_[p] += first_at_[p - 1];
  std::vector<std::vector<DeviceId>> devices(rows);
  positions_.resize(rows);
  for (const Listed& l : listed_) {
    devices[row_of_[l.device.index()]].push_back(l.device);
    positions_[row_of_[l.device.index()]].push_back(l.position);
  }
  schedules_.emplace(r_.machine, std::move(devices), shortest_);
}

void DeviceSearch::look_up_sorts() {
  std::map<std::vector<std::optional<Duration>>, std::uint32_t> known;
  for (std::size_t row = 0; row < schedules_->row_count(); ++row) {
    std::vector<std::optional<Duration>> lengths;
    for (const OpClass& op_class : classes_) {
      if (!op_class.given && !op_class.length.empty()) lengths.push_back(op_class.length[row]);
    }
    const auto next = static_cast<std::uint32_t>(known.size());
    const auto [found, is_new] = known.try_emplace(std::move(lengths), next);
    sort_of_.push_back(found->second);
    if (is_new) row_of_sort_.push_back(static_cast<std::uint32_t>(row));
  }
}

std::optional<Duration> DeviceSearch::length(std::size_t op_class, std::size_t sort) const {
  const OpClass& known = classes_[op_class];
  if (known.length.empty()) return std::nullopt;
  if (known.given) {
    return sort_of_[row_of_[known.given.index()]] == sort ? known.length[0] : std::nullopt;
  }
  return known.length[row_of_sort_[sort]];
}

Duration DeviceSearch::ready(std::span<const Source> sources, MemoryId memory) {
  Duration ready = earliest_;
  for (const Source& source : sources) {
    if (source.copies != nullptr && source.copies->contains(memory)) continue;
    const Duration moved = transfers_.between(source.memory, memory, source.bytes);
    ready = std::max(ready, sum_of(std::max(source.made, earliest_), moved));
  }
  return ready;
}

void DeviceSearch::visit(MemoryId memory) {
  visited_[memory.index()] = visit_;
  cuts_.push_back(tree_.begin(memory));
  cuts_.push_back(tree_.begin(memory) + 1);
  cuts_.push_back(tree_.end(memory));
}

void DeviceSearch::visit_way_up(MemoryId memory) {
  for (MemoryId m = memory; visited_[m.index()] != visit_; m = tree_.gate(m)) {
    for (const MemoryId member : tree_.members(tree_.block(m))) visit(member);
  }
}

// Cuts the positions of the tree where the way of an input goes along, so that the inputs come to
// all of a range by one memory: from their memories up to the roots, through all memories of the
// blocks on the way. A copy is used in its memory only, which is cut out.
void DeviceSearch::cut(std::span<const Source> sources) {
  cuts_.clear();
  if (listed_.size() <= few_devices) {
    cuts_ = {0, static_cast<std::uint32_t>(visited_.size())};
    return;
  }
  ++visit_;
  for (const MemoryId root : tree_.roots()) visit(root);
  for (const Source& source : sources) {
    visit_way_up(source.memory);
    if (source.copies == nullptr) continue;
    for (const MemoryId copy : *source.copies) visit_way_up(copy);
  }
  std::sort(cuts_.begin(), cuts_.end());
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
}

Opening DeviceSearch::find(OpId op, std::size_t op_class, std::span<const Source> sources,
                           std::span<const Duration> after) {
  const OpClass& known = classes_[op_class];
  const auto after_in = [&](std::size_t row) {
    return after.empty() ? Duration{0} : after[sort_of_[row]];
  };
  Opening best;
  if (known.given) {
    if (!r_.reachability.allows(op, known.given)) return best;
    schedules_->improve(best, known.given,
                        {ready(sources, memory_of(known.given)), *known.length[0]});
    return best;
  }
  cut(sources);
  const std::size_t rows = schedules_->row_count();
  const auto is_small = [&](std::size_t c) {
    return first_at_[cuts_[c + 1]] - first_at_[cuts_[c]] <= std::max(rows, few_devices);
  };
  for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) {
    if (!is_small(c)) continue;
    MemoryId memory;
    Duration there{0};
    for (std::size_t l = first_at_[cuts_[c]]; l < first_at_[cuts_[c + 1]]; ++l) {
      const DeviceId device = listed_[l].device;
      const std::size_t row = row_of_[device.index()];
      const std::optional<Duration> length = known.length[row];
      if (!length || !r_.reachability.allows(op, device)) continue;
      if (memory_of(device) != memory) {
        memory = memory_of(device);
        there = ready(sources, memory);
      }
      schedules_->improve(best, device, {there, *length, after_in(row)});
    }
  }
  for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) {
    if (is_small(c)) continue;
    for (std::size_t row = 0; row < rows; ++row) {
      if (!known.length[row]) continue;
      // Before a position there are devices of this row and at most all those of other rows.
      const auto at = [&](std::uint32_t position) {
        const std::vector<std::uint32_t>& p = positions_[row];
        const std::size_t before = first_at_[position];
        const std::size_t others = std::min(before, listed_.size() - p.size());
        const auto first = p.begin() + static_cast<std::ptrdiff_t>(before - others);
        const auto last = p.begin() + static_cast<std::ptrdiff_t>(std::min(before, p.size()));
        return static_cast<std::size_t>(std::lower_bound(first, last, position) - p.begin());
      };
      const std::size_t first = at(cuts_[c]);
      const std::size_t last = at(cuts_[c + 1]);
      if (first == last) continue;
      const DeviceId one = schedules_->row(row)[first];
      if (!r_.reachability.allows(op, one)) continue;
      schedules_->improve(best, row, first, last,
                          {ready(sources, memory_of(one)), *known.length[row], after_in(row)});
    }
  }
  return best;
}

}  // namespace troupe
