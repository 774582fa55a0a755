#include "core/plan/placement.hpp"

#include "core/plan/placement_policy.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace troupe {

void Placements::locate(OpId op, MemoryId memory) {
  located_.resize(graph_.size());
  if (!located_[op.index()]) located_[op.index()] = memory;
  existing_.push_back({op, memory});
}

void Placements::stay(OpId op, DeviceId device) {
  stays_.resize(graph_.size());
  stays_[op.index()] = {.device = device};
}

void Placements::place(const std::vector<WindowOps>& windows, std::span<const Duration> busy) {
  const auto is_known = [this](OpId op) { return is_given(given(op)); };
  const auto is_in_place = [&](const WindowOps& window) {
    return !window.timed || std::all_of(window.ops.begin(), window.ops.end(), is_known);
  };
  if (!stays_.empty() && !std::ranges::all_of(windows, is_in_place)) stays_.clear();
  bool is_any_open = !stays_.empty();
  for (const WindowOps& window : windows) {
    // Ops of a class have one placement.
    std::vector<bool> checked(graph_.classes().size(), false);
    for (const OpId op : window.ops) {
      const std::uint32_t op_class = graph_.class_index(op);
      if (checked[op_class]) continue;
      checked[op_class] = true;
      const Placement& given = this->given(op);
      check_exists(op, given);
      is_any_open = is_any_open || !is_given(given);
      if (given.device) check_device(op, window.timed);
    }
  }
  if (!is_any_open) return;
  if (chosen_.first() == chosen_.size()) {
    std::size_t first = graph_.size();
    for (const WindowOps& window : windows) {
      if (!window.ops.empty()) first = std::min(first, window.ops.front().index());
    }
    chosen_.start_at(first);
  }
  chosen_.grow_to(graph_.size(), DeviceId::none());
  reachability_.enter({.graph = graph_,
                       .windows = windows,
                       .memory_of = [this](OpId op) { return memory_of(op); },
                       .can_run = [this](DeviceId device, OpId op,
                                         bool timed) { return can_run(device, op, timed); }});
  std::vector<OpId> timed;
  for (const WindowOps& window : windows) {
    if (window.timed) timed.insert(timed.end(), window.ops.begin(), window.ops.end());
  }
  place_timed(windows, timed, busy);
  for (const WindowOps& window : windows) {
    if (window.timed) continue;
    place_prepared(std::vector<OpId>(window.ops.begin(), window.ops.end()), timed);
  }
  if (options_.seeks_room) seek_room(windows);
}

void Placements::check_exists(OpId op, const Placement& given) const {
  const bool has_device = !given.device || given.device.index() < machine_.devices.size();
  const bool has_memory = !given.memory || given.memory.index() < machine_.memories.size();
  if (has_device && has_memory) return;
  throw usage_error(
      graph_.place(op),
      fmt::format("'{}' is placed on a {} that the machine doesn't have", graph_.name(op),
                  has_device ? "memory" : "device"),
      fmt::format("find it by name, with Machine::find_{}()", has_device ? "memory" : "device"));
}

bool Placements::can_run(DeviceId device, OpId op, bool timed) const {
  if (is_lost(machine_.device(device).node)) return false;
  const OpKind& kind = graph_.kind(op);
  if (options_.has_kernel && !options_.has_kernel(device, kind)) return false;
  if (!options_.needs_costs || !timed) return true;
  return cost_.knows(device, graph_, graph_.op_class(op)) || is_needless(op);
}

// Simulated devices have a kernel for every op whose cost is known: a missing cost is named first.
bool Placements::lacks_rate(DeviceId device, OpId op) const {
  return options_.needs_costs && !cost_.knows(device, graph_, graph_.op_class(op));
}

bool Placements::computes_nothing(OpId op) const {
  return graph_.op_class(op).work.flops == 0;
}

// What a simulation lacks of a device that doesn't know how long the op takes.
std::string_view Placements::missing_rate(OpId op) const {
  return computes_nothing(op) ? "bandwidth" : "rate";
}

// What to give `whom`, such a device.
std::string Placements::rate_remedy(OpId op, std::string_view whom) const {
  if (computes_nothing(op)) {
    return fmt::format(
        "give {} a `bandwidth` in the machine file: it computes nothing, and takes as "
        "long as what it moves",
        whom);
  }
  return fmt::format("give {} a rate for it in the machine file ('{}: 10 TFLOP/s' or 'flops:')",
                     whom, graph_.kind(op).name);
}

void Placements::check_device(OpId op, bool timed) const {
  const DeviceId device = given(op).device;
  if (can_run(device, op, timed)) return;
  const std::string& name = machine_.device(device).name;
  const std::string_view kind = graph_.kind(op).name;
  const bool no_rate = lacks_rate(device, op);
  std::string elsewhere = "a device that has one";
  for (std::size_t d = machine_.devices.size(); d-- > 0;) {
    if (!can_run(DeviceId::at(d), op, timed)) continue;
    elsewhere = machine_.devices[d].name +
                ", which has one; devices of another memory get a copy of its result";
  }
  throw usage_error(graph_.place(op),
                    fmt::format("'{}' is placed on {}, which has no {} for '{}'", graph_.name(op),
                                name, no_rate ? missing_rate(op) : "kernel", kind),
                    no_rate ? rate_remedy(op, name) + ", or place the op elsewhere"
                            : "place the op on " + elsewhere);
}

void Placements::nobody_can(OpId op) const {
  const std::string_view kind = graph_.kind(op).name;
  bool lack_rates = true;
  for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
    lack_rates = lack_rates && lacks_rate(DeviceId::at(d), op);
  }
  throw usage_error(graph_.place(op),
                    fmt::format("no device has a {} for '{}', the kind of '{}'",
                                lack_rates ? missing_rate(op) : "kernel", kind, graph_.name(op)),
                    lack_rates ? rate_remedy(op, "one") : "use another op");
}

void Placements::place_timed(const std::vector<WindowOps>& windows, std::span<const OpId> all,
                             std::span<const Duration> busy) {
  if (std::all_of(all.begin(), all.end(), [this](OpId op) { return is_placed(op); })) return;
  std::vector<OpId> ops;
  std::vector<std::size_t> waits;
  for (const WindowOps& window : windows) {
    if (!window.timed) continue;
    if (!ops.empty()) waits.push_back(ops.size());
    std::copy_if(window.ops.begin(), window.ops.end(), std::back_inserter(ops),
                 [this](OpId op) { return graph_.output_number(op) == 0; });
  }
  const PlacementPolicy& policy = find_placement_policy(options_.placement_policy);
  const std::vector<DeviceId> devices = policy.place(
      {.graph = graph_,
       .machine = machine_,
       .cost = cost_,
       .router = router_,
       .ops = ops,
       .waits = waits,
       .placement = [this](OpId op) -> const Placement& { return given(op); },
       .home = [this](OpId op) { return memory_of(op); },
       .can_run = [this](DeviceId device, OpId op) { return can_run(device, op, true); },
       .reachability = reachability_,
       .busy = busy});
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (is_placed(ops[i])) continue;
    if (!devices[i]) nobody_can(ops[i]);
    chosen_[ops[i].index()] = devices[i];
  }
  place_further_outputs(all);
}

void Placements::place_further_outputs(std::span<const OpId> ops) {
  for (const OpId op : ops) {
    if (!is_placed(op)) chosen_[op.index()] = chosen_[graph_.maker(op).index()];
  }
}

// Readers come after what they read, so that one pass backwards sees every reader's placement. A
// timed op reads each of these, directly or through others, and is placed by now: on which island
// each must be is known.
void Placements::place_prepared(std::span<const OpId> ops, std::span<const OpId> timed) {
  std::vector<DeviceId> wanted(graph_.size());
  const auto want = [&](std::span<const OpId> readers) {
    for (std::size_t i = readers.size(); i-- > 0;) {
      const OpId reader = readers[i];
      if (graph_.output_number(reader) > 0) {
        const DeviceId device = wanted[reader.index()];
        if (device) wanted[graph_.maker(reader).index()] = device;
        continue;
      }
      if (!is_placed(reader)) chosen_[reader.index()] = choose(reader, wanted);
      const DeviceId device = of(reader).device;
      if (!device) continue;
      for (const OpId input : graph_.inputs(reader)) wanted[input.index()] = device;
    }
  };
  want(timed);
  want(ops);
  place_further_outputs(ops);
}

DeviceId Placements::choose(OpId op, const std::vector<DeviceId>& wanted) const {
  const auto is_possible = [&](DeviceId device) {
    return reachability_.allows(op, device) && can_run(device, op, false);
  };
  const DeviceId with_reader = wanted[op.index()];
  if (with_reader && is_possible(with_reader)) return with_reader;
  for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
    if (is_possible(DeviceId::at(d))) return DeviceId::at(d);
  }
  nobody_can(op);
}

void Placements::seek_room(const std::vector<WindowOps>& windows) {
  std::vector<bool> is_read(graph_.size(), false);
  for (const WindowOps& window : windows) {
    for (const OpId op : window.ops) {
      for (const OpId input : graph_.inputs(op)) is_read[input.index()] = true;
    }
  }
  search_room(
      {.graph = graph_,
       .machine = machine_,
       .cost = cost_,
       .router = router_,
       .windows = windows,
       .waits_across_nodes = options_.waits_across_nodes,
       .placement = [this](OpId op) { return of(op); },
       .is_open = [this](OpId op) { return !is_given(given(op)); },
       .can_run = [this](DeviceId device, OpId op,
                         bool timed) { return can_run(device, op, timed); },
       .reaches = [this](DeviceId device, OpId op) { return reachability_.allows(op, device); },
       .is_kept =
           [&](OpId op) {
             return std::ranges::binary_search(options_.saved, op) || keep_.contains(op) ||
                    (!is_read[op.index()] && keep_unread_.contains(op));
           },
       .existing = existing_},
      [this](OpId op, DeviceId device) { chosen_[op.index()] = device; });
}

}  // namespace troupe
