#include "core/plan/planner.hpp"

#include "core/base/assert.hpp"
#include "core/base/units.hpp"
#include "core/cost/cost_model.hpp"
#include "core/plan/memory_order.hpp"
#include "core/plan/placement.hpp"
#include "core/plan/results.hpp"
#include "core/plan/share_links.hpp"
#include "core/plan/windows.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

namespace troupe {

class Planner {
 public:
  Planner(const Graph& graph, const Machine& machine, PlanOptions options)
      : graph_(graph),
        machine_(machine),
        options_(std::move(options)),
        router_(machine),
        placements_(graph, machine, router_, options_),
        share_of_(machine.devices.size() + machine.links.size()),
        kernel_classes_(machine.devices.size()) {}

  Plan make(const Scenario& scenario) {
    const std::vector<WindowOps> windows = scenario_windows(graph_, scenario);
    placements_.place(windows);
    make_homes();
    std::size_t ops = 0;
    for (const WindowOps& window : windows) ops += window.ops.size();
    plan_.ops.reserve(ops);
    plan_.units.reserve(ops);
    plan_.replicas.reserve(ops);
    for (const WindowOps& window : windows) add_window(window);
    check_time(scenario.place, fmt::format("scenario '{}'", scenario.name));
    for (const WindowOps& window : windows) {
      plan_.ops.insert(plan_.ops.end(), window.ops.begin(), window.ops.end());
      if (window.timed) plan_.timed_ops += window.ops.size();
    }
    if (!std::is_sorted(plan_.ops.begin(), plan_.ops.end())) {
      std::sort(plan_.ops.begin(), plan_.ops.end());
    }
    keep_results(plan_, graph_, machine_, options_, windows, home_);
    order_by_priority(plan_, machine_, UnitRanks(plan_));
    link_successors(plan_, order_by_memory(graph_, machine_, plan_));
    check_ram(scenario);
    return std::move(plan_);
  }

  PlannedWindow make_next(OpId keep_from) {
    is_stream_ = true;
    WindowOps next;
    for (; next_op_ < graph_.size(); ++next_op_) {
      const OpId op = OpId::at(next_op_);
      for (const OpId input : graph_.inputs(op)) check_kept(input, op);
      next.ops.push_back(op);
    }
    TROUPE_ASSERT(!next.ops.empty());
    placements_.place({next});
    make_homes();
    plan_.windows.clear();
    read_again_.clear();
    add_window(next);
    check_time(place_of(next.ops.front()), "what was appended");
    PlannedWindow planned;
    planned.holds = hold_results(plan_, keep_from);
    Window& window = plan_.windows.back();
    window.waits = false;
    order_by_priority(plan_, machine_, UnitRanks(plan_));
    link_successors(plan_, {});
    const auto replicas = plan_.replicas.slice(window.first.index(), window.items);
    planned.replicas.assign(replicas.begin(), replicas.end());
    planned.read_again = read_again_;
    plan_.earlier.push_back({window.first, window.number});
    planned.window = std::move(window);
    plan_.windows.clear();
    forget_ops(keep_from);
    return planned;
  }

  void forget(std::uint32_t window, ReplicaId replica) {
    const auto first =
        std::find_if(plan_.earlier.begin(), plan_.earlier.end(),
                     [&](const Plan::Earlier& earlier) { return earlier.window >= window; });
    plan_.earlier.erase(plan_.earlier.begin(), first);
    plan_.units.forget_before(plan_.earlier.empty() ? plan_.units.size()
                                                    : plan_.earlier.front().first.index());
    plan_.replicas.forget_before(replica.index());
  }

  const Plan& plan() const { return plan_; }

 private:
  ResourceId resource(DeviceId d) const { return ResourceId{d.value}; }
  ResourceId resource(LinkId l) const {
    return ResourceId::at(machine_.devices.size() + l.index());
  }
  SourcePlace place_of(OpId op) const { return graph_.group(graph_.group_of(op)).place; }
  Placement placement(OpId op) const { return placements_.of(op); }

  // ---- units ----------------------------------------------------------------------------------

  void add_window(const WindowOps& ops) {
    std::fill(share_of_.begin(), share_of_.end(), nullptr);
    Window& window = plan_.windows.emplace_back();
    window.number = next_window_++;
    window.shares.reserve(share_of_.size());  // they stay where they are
    window.timed = ops.timed;
    if (ops.timed && !plan_.first_timed) plan_.first_timed = UnitId::at(plan_.units.size());
    window.first = UnitId::at(plan_.units.size());
    reserve_shares(ops.ops);
    for (const OpId op : ops.ops) {
      if (const Placement where = placement(op); where.memory) {
        add_copy(op, where.memory);
      } else {
        add_kernel(op, where.device);
      }
    }
    window.items = plan_.units.size() - window.first.index();
  }

  // Room for what is known beforehand: transfers come on top.
  void reserve_shares(const std::vector<OpId>& ops) {
    struct Size {
      std::size_t items = 0;
      std::size_t inputs = 0;
    };
    std::vector<Size> sizes(machine_.devices.size());
    for (const OpId op : ops) {
      const Placement where = placement(op);
      if (where.memory) continue;
      Size& size = sizes[where.device.index()];
      ++size.items;
      size.inputs += graph_.op_class(op).input_types.size();
    }
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d].items == 0) continue;
      Share& s = share(ResourceId::at(d));
      s.items.reserve(sizes[d].items + 1);
      s.inputs.reserve(sizes[d].inputs);
    }
  }

  Share& share(ResourceId r) {
    Share*& known = share_of_[r.index()];
    if (known == nullptr) {
      Window& window = plan_.windows.back();
      known = &window.shares.emplace_back(r, Share{}).second;
      known->window = window.number;
      known->timed = window.timed;
    }
    return *known;
  }

  // Adds a unit that reads `inputs` and makes a new replica of `op`'s tensor in `target`.
  ReplicaId add_unit(ResourceId r, OpId op, bool transfer, std::span<const ReplicaId> inputs,
                     MemoryId target, Duration expected) {
    Share& s = share(r);
    const bool reads_twice = has_repeats(inputs);
    const UnitId unit = UnitId::at(plan_.units.size());
    plan_.units.push_back({.ref = {r, s.size()},
                           .op = op,
                           .transfer = transfer,
                           .makes_result = !transfer,
                           .reads_twice = reads_twice});
    Share::Item& item = s.add_item();
    item.unit = unit;
    s.add_inputs(inputs);
    for (const ReplicaId input : inputs) {
      ReplicaSpec& read = plan_.replicas[input.index()];
      ++read.readers;
      read.is_private = read.is_private && is_made_by(r, maker_of(input));
      if (!reads_twice) count_wait(s, item, input);
      const bool is_late = maker_of(input) < plan_.windows.back().first;
      if (is_late && is_stream_) read_again_.push_back(input);
    }
    if (reads_twice) {
      for (const ReplicaId input : distinct_.of(plan_.units.back(), s)) count_wait(s, item, input);
    }
    count_time(expected);
    plan_.replicas.push_back(
        {.memory = target, .type = graph_.type_index(op), .readers = 0, .is_private = true});
    return ReplicaId{unit.value};
  }

  bool is_made_by(ResourceId r, UnitId unit) const {
    return plan_.units.holds(unit.index()) && plan_.units[unit.index()].ref.resource == r;
  }

  // The item, the last one of `s`, waits for what makes `input`.
  void count_wait(Share& s, Share::Item& item, ReplicaId input) {
    const UnitId maker = maker_of(input);
    if (maker < plan_.windows.back().first) return;
    ++item.waits_for;
    const ItemRef from = plan_.units[maker.index()].ref;
    Share& there = from.resource == plan_.units.back().ref.resource ? s : share(from.resource);
    ++there.items[from.item].first_successor;  // for now a count: see link_successors
  }

  // Whether something stands there more than once.
  bool has_repeats(std::span<const ReplicaId> inputs) {
    constexpr std::size_t few = 8;
    if (inputs.size() > few) {
      sorted_.assign(inputs.begin(), inputs.end());
      if (!std::is_sorted(sorted_.begin(), sorted_.end())) {
        std::sort(sorted_.begin(), sorted_.end());
      }
      return std::adjacent_find(sorted_.begin(), sorted_.end()) != sorted_.end();
    }
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (inputs[k] == inputs[i]) return true;
      }
    }
    return false;
  }

  void count_time(Duration expected) {
    fits_time_ = fits_time_ && expected < longest_duration - serial_;
    if (fits_time_) serial_ += expected;
  }

  void add_kernel(OpId op, DeviceId device) {
    const MemoryId memory = machine_.device(device).memory;
    inputs_.clear();
    for (const OpId input : graph_.inputs(op)) inputs_.push_back(replica_in(input, memory, op));
    Share& s = share(resource(device));
    const std::uint32_t kernel = kernel_in(s, device, op);
    home_[op.index()] =
        add_unit(resource(device), op, false, inputs_, memory, s.kernels[kernel].expected);
    Share::Item& item = s.items[s.size() - 1];
    item.kernel = kernel;
    item.index = index_of(op);
  }

  void check_kept(OpId input, OpId reader) const {
    if (input.index() >= home_.first()) return;
    throw usage_error(place_of(reader),
                      fmt::format("'{}' reads '{}', which nothing was to read any more",
                                  graph_.name(reader), graph_.name(input)),
                      "submit earlier windows with an older keep_from");
  }

  // In its group. Ops come in graph order within a window, so the last group looked up is mostly
  // the right one.
  std::uint32_t index_of(OpId op) {
    if (op < group_first_ || op >= group_end_) {
      const Group& group = graph_.group(graph_.group_of(op));
      group_first_ = group.first;
      group_end_ = OpId{group.first.value + group.count};
    }
    return op.value - group_first_.value;
  }

  // Whether the window at hand takes no time.
  bool is_free() const { return options_.needs_costs && !plan_.windows.back().timed; }

  // Into s.kernels. Ops of few classes take turns on a device mostly.
  std::uint32_t kernel_in(Share& s, DeviceId device, OpId op) {
    std::vector<std::uint32_t>& classes = kernel_classes_[device.index()];
    if (s.kernels.empty()) classes.clear();
    const std::uint32_t op_class = graph_.class_index(op);
    constexpr std::size_t lookback = 16;
    const std::size_t oldest = classes.size() - std::min(classes.size(), lookback);
    for (std::size_t k = classes.size(); k-- > oldest;) {
      if (classes[k] == op_class) return static_cast<std::uint32_t>(k);
    }
    s.kernels.push_back({.kind = graph_.kind_id(op),
                         .attrs = graph_.attrs(op),
                         .expected = is_free() ? Duration{0}
                                               : op_time(machine_.device(device), graph_.kind(op),
                                                         graph_.work(op))});
    classes.push_back(op_class);
    return static_cast<std::uint32_t>(s.kernels.size() - 1);
  }

  // Links make the result where the tensor comes from elsewhere; within a memory a device does.
  void add_copy(OpId op, MemoryId target) {
    const OpId source = graph_.inputs(op)[0];
    const bool starts_here = plan_.replicas[home_[source.index()].index()].memory == target;
    if (const ReplicaId local = known_replica(source, target); local) {
      if (const DeviceId device = copier_at(target, op); device) {
        add_kernel(op, device);
        return;
      }
    }
    if (starts_here) {
      throw usage_error(
          place_of(op),
          fmt::format("'{}' copies within {}, where no device has a kernel for '{}'",
                      graph_.name(op), machine_.memory(target).name, graph_.kind(op).name),
          "copy to another memory");
    }
    home_[op.index()] = add_transfers(source, target, op, true);
  }

  // None where no device on this memory can copy within it.
  DeviceId copier_at(MemoryId memory, OpId op) const {
    for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
      const Device& device = machine_.devices[d];
      const OpKind& kind = graph_.kind(op);
      if (device.memory != memory) continue;
      if (options_.has_kernel && !options_.has_kernel(DeviceId::at(d), kind)) continue;
      const bool needs_cost = options_.needs_costs && !is_free();
      if (!needs_cost || has_cost(device, kind, graph_.work(op))) return DeviceId::at(d);
    }
    return DeviceId::none();
  }

  // ---- replicas and transfers -------------------------------------------------------------------

  static std::uint64_t key(OpId op, MemoryId memory) {
    return (std::uint64_t{op.value} << 32) | memory.value;
  }

  ReplicaId known_replica(OpId op, MemoryId memory) const {
    const ReplicaId home = home_[op.index()];
    if (plan_.replicas[home.index()].memory == memory) return home;
    const auto found = elsewhere_.find(key(op, memory));
    return found == elsewhere_.end() ? ReplicaId::none() : found->second;
  }

  ReplicaId replica_in(OpId tensor, MemoryId memory, OpId reader) {
    if (const ReplicaId known = known_replica(tensor, memory); known) return known;
    const ReplicaId moved = add_transfers(tensor, memory, reader, false);
    elsewhere_[key(tensor, memory)] = moved;
    return moved;
  }

  // The transfers that bring `tensor` to `target` for `reader`, the last of which makes the result
  // of `reader` where `ends_copy`. What lands on the way is kept as a replica
  // that later readers may use.
  ReplicaId add_transfers(OpId tensor, MemoryId target, OpId reader, bool ends_copy) {
    ReplicaId at = home_[tensor.index()];
    const MemoryId source = plan_.replicas[at.index()].memory;
    const Route* whole_route = router_.route(source, target);
    if (whole_route == nullptr) {
      throw usage_error(place_of(reader),
                        fmt::format("'{}' needs '{}' in {}, and there is no route from {}",
                                    graph_.name(reader), graph_.name(tensor),
                                    machine_.memory(target).name, machine_.memory(source).name),
                        "add a link between them to the machine, or place the op elsewhere");
    }
    std::span<const Hop> route = *whole_route;
    for (std::size_t h = route.size(); h-- > 1;) {
      const Hop& hop = route[h];
      const ReplicaId on_the_way =
          known_replica(tensor, machine_.link(hop.link).source(hop.direction));
      if (!on_the_way) continue;
      at = on_the_way;
      route = route.subspan(h);
      break;
    }
    const std::uint64_t bytes = graph_.type(tensor).bytes();
    const std::uint32_t chunks = chunk_count(route, bytes);
    for (std::size_t h = 0; h < route.size(); ++h) {
      const Hop& hop = route[h];
      const Link& link = machine_.link(hop.link);
      const MemoryId next = link.target(hop.direction);
      const bool is_last = h + 1 == route.size();
      const bool makes_result = is_last && ends_copy;
      const ReplicaId from = at;
      const Duration expected = is_free() ? Duration{0} : wire_time(link, hop.direction, bytes);
      at = add_unit(resource(hop.link), makes_result ? reader : tensor, true, std::span(&from, 1),
                    next, expected);
      count_time(link.latency);
      plan_.units.back().makes_result = makes_result;
      plan_.units.back().paced = h > 0;
      plan_.units.back().chunks = static_cast<std::uint16_t>(chunks);
      share(resource(hop.link))
          .moves.push_back({.bytes = bytes,
                            .expected = expected,
                            .chunks = chunks,
                            .direction = hop.direction,
                            .paced = h > 0,
                            .paces = !is_last});
      if (!is_last) elsewhere_.try_emplace(key(tensor, next), at);
    }
    return at;
  }

  // One where a link does its transfers one by one; else so many that sharing and pipelining work.
  std::uint32_t chunk_count(std::span<const Hop> route, std::uint64_t bytes) const {
    constexpr std::uint64_t most = 0xFFFF;
    std::uint64_t chunk = machine_.link(route[0].link).chunk_bytes;
    bool whole = route.size() == 1;
    for (const Hop& hop : route) {
      const Link& link = machine_.link(hop.link);
      chunk = std::min(chunk, link.chunk_bytes);
      whole = whole && link.sharing == Sharing::fifo;
    }
    if (whole) return 1;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>((bytes + chunk - 1) / chunk, 1, most));
  }

  void make_homes() {
    home_.reserve(graph_.size() - home_.size());
    while (home_.size() < graph_.size()) home_.push_back(ReplicaId::none());
  }

  // ---- after all units are known ----------------------------------------------------------------

  void check_time(const SourcePlace& place, const std::string& what) const {
    if (fits_time_) return;
    throw usage_error(place, fmt::format("{} would take longer than 100 years", what),
                      "look for a rate that is too low or a repeat that is too high");
  }

  void forget_ops(OpId keep_from) {
    home_.forget_before(keep_from.index());
    placements_.forget_before(keep_from);
    std::erase_if(elsewhere_, [&](const auto& known) {
      return known.first >> 32 < keep_from.value;  // see key()
    });
  }

  void check_ram(const Scenario& scenario) {
    if (!options_.ram_bytes) return;
    RamNeed need = ram_needed(graph_, machine_, plan_);
    plan_.buffers = std::move(need.buffers);
    if (need.bytes <= *options_.ram_bytes) return;
    throw usage_error(
        scenario.place,
        fmt::format("scenario '{}' needs {} of this host's memory at once, and {} are available",
                    scenario.name, format_bytes(need.bytes), format_bytes(*options_.ram_bytes)),
        "make the tensors smaller or fewer, or simulate the file");
  }

  const Graph& graph_;
  const Machine& machine_;
  const PlanOptions options_;
  Router router_;
  Plan plan_;
  Placements placements_;
  Sliding<ReplicaId> home_;                                 // by op
  std::unordered_map<std::uint64_t, ReplicaId> elsewhere_;  // by op and memory
  std::vector<Share*> share_of_;  // by resource, in the window being built
  std::vector<std::vector<std::uint32_t>> kernel_classes_;  // by device: of its share's kernels
  OpId group_first_ = {};                                   // ops of the group last looked up
  OpId group_end_ = {};
  bool is_stream_ = false;
  std::size_t next_op_ = 0;            // of a stream
  std::vector<ReplicaId> read_again_;  // made before the window at hand
  std::uint32_t next_window_ = 0;
  std::vector<ReplicaId> inputs_;  // of the op being added
  std::vector<ReplicaId> sorted_;
  DistinctInputs distinct_;
  Duration serial_{0};     // sum of all expected times so far
  bool fits_time_ = true;  // whether it stays below longest_duration
};

Plan make_plan(const Graph& graph, const Machine& machine, const Scenario& scenario,
               const PlanOptions& options) {
  return Planner(graph, machine, options).make(scenario);
}

WindowPlanner::WindowPlanner(const Graph& graph, const Machine& machine, PlanOptions options)
    : planner_(std::make_unique<Planner>(graph, machine, std::move(options))) {}
WindowPlanner::~WindowPlanner() = default;

PlannedWindow WindowPlanner::plan(OpId keep_from) {
  return planner_->make_next(keep_from);
}

void WindowPlanner::forget(std::uint32_t window, ReplicaId replica) {
  planner_->forget(window, replica);
}

const Plan& WindowPlanner::plan() const {
  return planner_->plan();
}

}  // namespace troupe
