#include "core/result/summary.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace troupe {

Summary::Summary(const Graph& graph, const Machine& machine, const Plan& plan, bool with_timeline,
                 std::vector<OpId> loaded)
    : graph_(graph),
      machine_(machine),
      plan_(plan),
      with_timeline_(with_timeline),
      loaded_(std::move(loaded)),
      busy_(machine.devices.size() + 2 * machine.links.size(), Duration{0}) {
  // The tracks of a timeline: streams of devices, then directions of links.
  std::vector<Track>& tracks = report_.timeline.tracks;
  for (const Device& device : machine.devices) {
    first_track_.push_back(static_cast<std::uint32_t>(tracks.size()));
    for (int s = 0; s < device.streams; ++s) {
      tracks.push_back({device.name, device.streams == 1
                                         ? device.name
                                         : fmt::format("{} stream {}", device.name, s)});
    }
  }
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    first_track_.push_back(static_cast<std::uint32_t>(tracks.size()));
    for (const Direction d : {Direction::forward, Direction::backward}) {
      tracks.push_back({machine.links[l].name, direction_name(machine, LinkId::at(l), d)});
    }
  }
  report_.timeline.first_predecessor.push_back(0);
  const std::size_t units = plan_.timed_units();
  earliest_.reserve(units);
  if (!with_timeline) return;
  report_.timeline.spans.reserve(units);
  report_.timeline.first_predecessor.reserve(units + 1);
}

void Summary::add(const Window& window) {
  if (!window.timed) return;
  // Given tensors are numbered between windows, and are no work. Neither is what was prepared again
  // after a loss.
  while (plan_.first_timed.index() + earliest_.size() < window.first.index()) {
    without_span_.push_back(UnitId::at(plan_.first_timed.index() + earliest_.size()));
    not_shown_.push_back(without_span_.back());
    earliest_.push_back({});
    ++no_work_;
  }
  add_times(window);
  if (with_timeline_) reserve_predecessors(window);
  ShareTable<> shares(window);
  for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
    const Unit& unit = plan_.units[u];
    if (is_loaded(unit)) {
      ++no_work_;
      earliest_.push_back({});
      without_span_.push_back(UnitId::at(u));
      not_shown_.push_back(UnitId::at(u));
      continue;
    }
    if (unit.is_further) ++no_work_;
    // If its actor died, the share is missing.
    const Share* const share = shares.find(unit.ref.resource);
    const bool finished = share != nullptr && share->items[unit.ref.item].finished();
    if (!finished && window.is_replaced && !unit.is_further) ++no_work_;
    if (!finished) {
      earliest_.push_back({});
      without_span_.push_back(UnitId::at(u));
      not_shown_.push_back(UnitId::at(u));
      continue;
    }
    const std::span<const ReplicaId> inputs = share->inputs_of(unit.ref.item);
    earliest_.push_back(unit.is_further ? Earliest(earliest_.back())
                                        : earliest(UnitId::at(u), shares, inputs));
    critical_path_ = std::max(critical_path_, earliest_.back().finish);
    if (!with_timeline_) continue;
    if (unit.is_further) {
      without_span_.push_back(UnitId::at(u));
    } else {
      add_span(unit, *share, inputs);
    }
  }
}

bool Summary::is_loaded(const Unit& unit) const {
  return unit.makes_result && std::binary_search(loaded_.begin(), loaded_.end(), unit.op);
}

// Without a reservation, a big run would hold two copies of the list while it grows.
void Summary::reserve_predecessors(const Window& window) {
  BigVector<std::uint32_t>& predecessors = report_.timeline.predecessors;
  std::size_t wanted = predecessors.size();
  for (const auto& [resource, share] : window.shares) wanted += share.inputs.size();
  if (wanted <= predecessors.capacity()) return;
  predecessors.reserve(std::max(wanted, 2 * predecessors.capacity()));
}

void Summary::forget_before(UnitId unit) {
  if (!plan_.first_timed || unit <= plan_.first_timed) return;
  const std::size_t first = unit.index() - plan_.first_timed.index();
  earliest_.forget_before(std::min(first, earliest_.size()));
}

void Summary::add_times(const Window& window) {
  for (const auto& [resource, share] : window.shares) {
    const bool is_device = resource.index() < machine_.devices.size();
    for (std::uint32_t i = 0; i < share.size(); ++i) {
      const Share::Item& item = share.items[i];
      if (!item.finished()) continue;
      const Unit& unit = plan_.units[item.unit.index()];
      if (unit.is_further || is_loaded(unit)) continue;
      const Duration busy = share.busy(i);
      ++report_.finished;
      if (share.is_transfer()) ++report_.transfers;
      if (unit.makes_result) ++report_.ops;
      report_.serial += busy;
      last_ = std::max(last_, item.end);
      busy_[is_device ? resource.index()
                      : 2 * resource.index() - machine_.devices.size() + item.track] += busy;
    }
  }
}

// On a route of several links, a transfer may begin when the link before has delivered the first
// chunk, and ends at least one chunk after the transfer on the link before. In a real run the times
// of chunks differ; the shortest chunk gives a valid bound. The two ends of a network move a chunk
// at the same time, of which their records tell.
Summary::Earliest Summary::earliest(UnitId unit, const ShareTable<>& shares,
                                    std::span<const ReplicaId> inputs) const {
  Earliest own;
  Duration at_least{0};
  for (const ReplicaId input : inputs) {
    const UnitId p = maker_of(input);
    if (p < plan_.first_timed) continue;
    const Earliest& before = earliest_[p.index() - plan_.first_timed.index()];
    if (!plan_.moves_on(p, unit)) {
      own.ready = std::max(own.ready, before.finish);
      continue;
    }
    // Of a node that was lost, the record may never have come.
    const Share::Item* const first = find_finished(p, shares);
    if (first == nullptr) continue;
    const Share::Item& second = *find_finished(unit, shares);
    const Duration first_chunk = std::min(shortest_chunk(p, shares), second.start - first->start);
    const Duration last_chunk = std::min(shortest_chunk(unit, shares), second.end - first->end);
    own.ready = std::max(own.ready, before.ready + first_chunk);
    at_least = std::max(at_least, before.finish + last_chunk);
  }
  const ItemRef ref = plan_.units[unit.index()].ref;
  own.finish = std::max(own.ready + shares[ref.resource].busy(ref.item), at_least);
  return own;
}

// Null: it hasn't finished, or what became of it isn't known.
const Share::Item* Summary::find_finished(UnitId unit, const ShareTable<>& shares) const {
  const ItemRef ref = plan_.units[unit.index()].ref;
  const Share* const share = shares.find(ref.resource);
  return share != nullptr && share->items[ref.item].finished() ? &share->items[ref.item] : nullptr;
}

Duration Summary::shortest_chunk(UnitId transfer, const ShareTable<>& shares) const {
  const Unit& unit = plan_.units[transfer.index()];
  const Share& share = shares[unit.ref.resource];
  if (unit.chunks == 1) return share.busy(unit.ref.item);
  return Duration{share.chunks[unit.ref.item].shortest_ns};
}

void Summary::add_span(const Unit& unit, const Share& share, std::span<const ReplicaId> inputs) {
  Timeline& timeline = report_.timeline;
  const Share::Item& item = share.items[unit.ref.item];
  const GroupId g = graph_.group_of(unit.op);
  const Group& group = graph_.group(g);
  // The last transfer of a copy, which makes its result, has the name of the copy.
  const bool moved = !unit.makes_result;
  const std::size_t kinds = graph_.kinds().size();
  const std::string_view name = group.name.empty() ? graph_.kind(unit.op).name : group.name;
  const std::size_t named =
      group.name.empty() ? graph_.kind_id(unit.op).index() : kinds + g.index();
  const std::size_t labelled = named * 2 + (moved ? 1 : 0);
  if (labelled >= label_of_.size()) {
    label_of_.resize(2 * (kinds + graph_.group_count()), Span::no_index);
  }
  const bool is_known = unit.op >= graph_.first();  // not forgotten
  const std::uint32_t output = moved && is_known ? graph_.output_number(unit.op) : 0;
  std::uint32_t& label =
      output == 0 ? label_of_[labelled]
                  : further_label_of_.try_emplace({named, output}, Span::no_index).first->second;
  if (label == Span::no_index) {
    label = static_cast<std::uint32_t>(timeline.labels.size());
    std::string text = fmt::format("{}{}", moved ? "→" : "", name);
    if (output > 0) {
      text += fmt::format(".{}", graph_.kind(unit.op).further_outputs[output - 1].name);
    }
    timeline.labels.push_back(std::move(text));
  }
  timeline.spans.push_back(
      {.track = first_track_[unit.ref.resource.index()] + item.track,
       .label = label,
       .index = group.indexed || group.name.empty()
                    ? (unit.op.value - output - group.first.value) / group.outputs
                    : Span::no_index,
       .start = item.start,
       .end = item.end});
  // A tensor that is read twice counts as one predecessor.
  for (const ReplicaId input : distinct(inputs)) {
    const UnitId p = maker_of(input);
    if (p < plan_.first_timed || !is_shown(p)) continue;
    timeline.predecessors.push_back(span_of(p));
  }
  timeline.first_predecessor.push_back(static_cast<std::uint32_t>(timeline.predecessors.size()));
}

// Each of them once, in their order.
std::span<const ReplicaId> Summary::distinct(std::span<const ReplicaId> inputs) {
  const auto descends = [](ReplicaId a, ReplicaId b) { return a >= b; };
  if (std::adjacent_find(inputs.begin(), inputs.end(), descends) == inputs.end()) return inputs;
  std::vector<std::uint32_t>& places = distinct_places_;
  places.resize(inputs.size());
  std::iota(places.begin(), places.end(), 0U);
  std::sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(inputs[a], a) < std::pair(inputs[b], b);
  });
  const auto is_same = [&](std::uint32_t a, std::uint32_t b) { return inputs[a] == inputs[b]; };
  places.erase(std::unique(places.begin(), places.end(), is_same), places.end());
  std::sort(places.begin(), places.end());
  distinct_.clear();
  for (const std::uint32_t place : places) distinct_.push_back(inputs[place]);
  return distinct_;
}

// Whether the unit has a span, or its maker has. What a lost node has sent to others had finished
// there, but its record may never have come.
bool Summary::is_shown(UnitId unit) const {
  return !std::binary_search(not_shown_.begin(), not_shown_.end(), unit);
}

// Each unit that did some work has a span. Spans are in the order of units. A further output has
// that of its maker, which is the last one before it.
std::uint32_t Summary::span_of(UnitId unit) const {
  const auto found = std::lower_bound(without_span_.begin(), without_span_.end(), unit);
  const auto before = static_cast<std::uint32_t>(found - without_span_.begin());
  const std::uint32_t span = unit.value - plan_.first_timed.value - before;
  const bool is_further = found != without_span_.end() && *found == unit;
  return is_further ? span - 1 : span;
}

// One entry for each device and for each direction of a link.
void Summary::add_resources() {
  for (std::size_t row = 0; row < busy_.size(); ++row) {
    ResourceUse use;
    use.busy = busy_[row];
    if (row < machine_.devices.size()) {
      use.name = machine_.devices[row].name;
      use.kind = ResourceUse::Kind::device;
      use.streams = machine_.devices[row].streams;
    } else {
      const std::size_t l = (row - machine_.devices.size()) / 2;
      const auto d = static_cast<Direction>((row - machine_.devices.size()) % 2);
      use.name = direction_name(machine_, LinkId::at(l), d);
      use.kind = ResourceUse::Kind::link;
    }
    if (report_.makespan.count() > 0) {
      use.utilisation = seconds(use.busy) / (use.streams * seconds(report_.makespan));
    }
    report_.resources.push_back(std::move(use));
  }
}

// max(critical path, busiest device, busiest link direction)
void Summary::add_bound() {
  report_.lower_bound = critical_path_;
  report_.bound_by = "critical path";
  for (const ResourceUse& use : report_.resources) {
    const Duration bound = use.busy / use.streams;
    if (bound < report_.lower_bound || bound.count() == 0) continue;
    report_.lower_bound = bound;
    report_.bound_by = use.name;
  }
}

ScenarioReport Summary::finish(const std::string& name, const RunResult& result) {
  const Instant origin = result.origin.value_or(Instant{});
  report_.name = name;
  report_.outcome = result.ending == Ending::done     ? Outcome::done
                    : result.ending == Ending::failed ? Outcome::failed
                                                      : Outcome::interrupted;
  report_.error = describe(result.failure, graph_, machine_, plan_);
  report_.took = result.took;
  report_.planned = earliest_.size() - no_work_;
  report_.makespan = std::max(last_, origin) - origin;
  add_resources();
  add_bound();
  for (Span& span : report_.timeline.spans) {
    span.start = Instant{span.start - origin};
    span.end = Instant{span.end - origin};
  }
  return std::move(report_);
}

std::string unit_name(const Graph& graph, const Machine& machine, const Plan& plan, UnitId unit) {
  const Unit& u = plan.units[unit.index()];
  return fmt::format("'{}' {} {}", graph.name(u.op), u.transfer ? "over" : "on",
                     resource_name(machine, u.ref.resource));
}

std::string unit_needs(const Graph& graph, const Plan& plan, UnitId unit) {
  const Unit& u = plan.units[unit.index()];
  std::vector<std::string> names;
  if (!u.makes_result) {
    names.push_back(fmt::format("'{}'", graph.name(u.op)));
  } else {
    for (const OpId input : graph.inputs(u.op)) {
      names.push_back(fmt::format("'{}'", graph.name(input)));
    }
  }
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

std::string describe(const CoordinatorLogic::Failure& failure, const Graph& graph,
                     const Machine& machine, const Plan& plan) {
  if (failure.unit) {
    return fmt::format("{}: {}", unit_name(graph, machine, plan, failure.unit), failure.cause);
  }
  std::vector<std::string> stuck;
  for (const CoordinatorLogic::Status& s : failure.stuck) {
    const std::string name = unit_name(graph, machine, plan, s.pending);
    stuck.push_back(s.missing == 0 ? fmt::format("{} waits for the rest of a transfer", name)
                                   : fmt::format("{} waits for {} of {}", name, s.missing,
                                                 unit_needs(graph, plan, s.pending)));
  }
  return failure.cause + (stuck.empty() ? "" : ": ") + fmt::format("{}", fmt::join(stuck, "; "));
}

ScenarioReport summarize(const Graph& graph, const Machine& machine, Plan& plan,
                         const std::string& name, const RunResult& result, bool with_timeline,
                         std::vector<OpId> loaded) {
  for (Window& window : plan.windows) {
    // Not used any more: frees memory for the timeline.
    for (auto& [resource, share] : window.shares) share.forget_successors();
  }
  Summary summary(graph, machine, plan, with_timeline, std::move(loaded));
  for (const Window& window : plan.windows) summary.add(window);
  return summary.finish(name, result);
}

}  // namespace troupe
