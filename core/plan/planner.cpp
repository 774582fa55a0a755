#include "core/plan/planner.hpp"

#include "core/base/assert.hpp"
#include "core/base/units.hpp"
#include "core/plan/memory_order.hpp"
#include "core/plan/placement.hpp"
#include "core/plan/results.hpp"
#include "core/plan/share_links.hpp"
#include "core/plan/unit_builder.hpp"
#include "core/plan/windows.hpp"

#include <algorithm>
#include <future>

#include <fmt/format.h>

namespace troupe {

class Planner {
 public:
  Planner(const Graph& graph, const Machine& machine, PlanOptions options,
          std::uint32_t first_window = 0, Plan plan = {})
      : graph_(graph),
        machine_(machine),
        options_(std::move(options)),
        router_(machine),
        plan_(std::move(plan)),
        placements_(graph, machine, cost_of(options_), router_, options_),
        units_(graph, machine, options_, cost_of(options_), router_, placements_, plan_,
               first_window) {}

  Plan make(const Scenario& scenario) {
    const std::vector<WindowOps> windows = scenario_windows(graph_, scenario);
    placements_.place(windows);
    list(windows);
    plan_.units.reserve(plan_.ops.size());  // without transfers, whose number isn't known yet
    plan_.replicas.reserve(plan_.ops.size());
    for (const WindowOps& window : windows) units_.add_window(window);
    link(scenario,
         [&] { keep_results(plan_, graph_, machine_, options_, windows, units_.home()); });
    return std::move(plan_);
  }

  // The windows of the plan are gone, and of its replicas these remain.
  Plan make_rest(const Scenario& scenario, const Goal& goal, const Remains& remains) {
    const Rest rest = find_rest(graph_, goal, existing_ops(graph_, plan_, remains));
    if (plan_.ops.empty()) list(goal.windows);
    for (std::size_t r = 0; r < plan_.replicas.size(); ++r) {
      plan_.replicas[r].readers = 0;
      const OpId op = plan_.units[r].op;
      if (options_.stays_where_it_was && !plan_.units[r].transfer) {
        placements_.stay(op, DeviceId{plan_.units[r].ref.resource.value});
      }
      if (!remains.exists[r] || rest.is_made[op.index()]) continue;
      units_.add_existing(op, ReplicaId::at(r));
      placements_.locate(op, plan_.replicas[r].memory);
    }
    if (options_.seeks_room) tell_what_is_kept(remains, rest);
    placements_.place(rest.windows);
    for (const WindowOps& window : rest.windows) units_.add_window(window);
    keep_rest(plan_, remains, rest, units_.home());
    link(scenario, [] {});
    return std::move(plan_);
  }

  // The ops that were appended since the last call.
  OpRanges take_appended() {
    OpRanges ops;
    ops.append(OpId::at(next_op_), static_cast<std::uint32_t>(graph_.size() - next_op_));
    next_op_ = graph_.size();
    return ops;
  }

  PlannedWindow make_next(OpRanges ops, const std::function<bool(OpId)>& may_be_read, bool timed,
                          std::span<const Duration> busy) {
    TROUPE_ASSERT(!ops.empty());
    const WindowOps next{.ops = std::move(ops), .timed = timed};
    for (const OpId op : next.ops) {
      for (const OpId input : graph_.inputs(op)) check_kept(input, op);
    }
    placements_.place({next}, busy);
    plan_.windows.clear();
    units_.add_window(next);
    check_time(graph_.place(next.ops.front()), "what was appended");
    PlannedWindow planned;
    planned.holds = hold_results(plan_, machine_, may_be_read);
    Window& window = plan_.windows.back();
    window.waits = false;
    order_by_priority(plan_, machine_, UnitRanks(plan_));
    link_successors(plan_, {}, units_.arenas());
    const auto replicas = plan_.replicas.slice(window.first.index(), window.items);
    planned.replicas.assign(replicas.begin(), replicas.end());
    planned.read_again.assign(units_.read_again().begin(), units_.read_again().end());
    plan_.earlier.push_back({window.first, window.number});
    planned.window = std::move(window);
    plan_.windows.clear();
    return planned;
  }

  ReplicaSpec add_given(OpId op, MemoryId memory) { return units_.add_given(op, memory); }

  void forget_ops(OpId keep_from) {
    units_.forget_before(keep_from);
    placements_.forget_before(keep_from);
  }

  void on_completed(std::uint32_t window) {
    const auto first =
        std::find_if(plan_.earlier.begin(), plan_.earlier.end(),
                     [&](const Plan::Earlier& earlier) { return earlier.window >= window; });
    plan_.earlier.erase(plan_.earlier.begin(), first);
  }

  void forget(std::uint32_t window, ReplicaId replica) {
    on_completed(window);
    plan_.units.forget_before(plan_.earlier.empty() ? plan_.units.size()
                                                    : plan_.earlier.front().first.index());
    plan_.replicas.forget_before(replica.index());
  }

  const Plan& plan() const { return plan_; }
  Plan take_plan() { return std::move(plan_); }

 private:
  static const CostModel& cost_of(const PlanOptions& options) {
    TROUPE_ASSERT(options.cost != nullptr);
    return *options.cost;
  }

  // As keep_rest() will keep it.
  void tell_what_is_kept(const Remains& remains, const Rest& rest) {
    for (std::size_t op = 0; op < rest.is_wanted.size(); ++op) {
      if (rest.is_wanted[op]) placements_.keep(OpId::at(op));
    }
    for (const Plan::Result& result : plan_.results) {
      if (rest.is_made[result.op.index()] || !remains.has(result.replica)) continue;
      if (result.is_kept) {
        placements_.keep(result.op);
      } else {
        placements_.keep_unread(result.op);
      }
    }
  }

  void list(const std::vector<WindowOps>& windows) {
    for (const WindowOps& window : windows) {
      plan_.ops.append(window.ops);
      if (window.timed) plan_.timed_ops += window.ops.size();
    }
    plan_.ops.sort();
  }

  // Orders and links the items of a scenario's windows. `keep` sets the plan's results.
  void link(const Scenario& scenario, const std::function<void()>& keep) {
    units_.finish();
    check_time(scenario.place, fmt::format("scenario '{}'", scenario.name));
    // settle_tensors() runs on a second thread while this thread links the items. It reads the
    // items' order and writes the readers of replicas. So it must end before items are reordered,
    // and before order_by_memory() reads the readers.
    // Planning so many units takes a few hundred times as long as starting a thread.
    constexpr std::size_t async_planning_units_min = 1 << 14;
    const auto policy = plan_.units.size() < async_planning_units_min
                            ? std::launch::deferred
                            : std::launch::async | std::launch::deferred;
    std::future<RamNeed> ram = std::async(policy, [&] { return settle_tensors(keep); });
    if (const UnitRanks ranks(plan_); !ranks.are_in_order(machine_)) {
      ram.wait();
      order_by_priority(plan_, machine_, ranks);
    }
    RoomOrder room;
    if (is_any_tight(graph_, machine_, plan_)) {
      ram.wait();
      room = order_by_memory(graph_, machine_, plan_, options_.waits_across_nodes);
    }
    link_successors(plan_, room, units_.arenas());
    check_ram(scenario, ram.get());
  }

  void check_kept(OpId input, OpId reader) const {
    if (input.index() >= units_.home().first()) return;
    throw usage_error(graph_.place(reader),
                      fmt::format("'{}' reads '{}', which nothing was to read any more",
                                  graph_.name(reader), graph_.name(input)),
                      "submit earlier windows with an older keep_from");
  }

  void check_time(const SourcePlace& place, const std::string& what) const {
    if (units_.fits_time()) return;
    throw usage_error(place, fmt::format("{} would take longer than 100 years", what),
                      "look for a rate that is too low, or a cost or a repeat that is too high");
  }

  RamNeed settle_tensors(const std::function<void()>& keep) {
    keep();
    return options_.ram_bytes ? ram_needed(graph_, machine_, plan_, options_) : RamNeed{};
  }

  void check_ram(const Scenario& scenario, RamNeed need) {
    plan_.buffers = std::move(need.buffers);
    if (!options_.ram_bytes || need.bytes <= *options_.ram_bytes) return;
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
  UnitBuilder units_;
  std::size_t next_op_ = 0;  // of a stream
};

namespace {

// Once more where a memory is too small for what the placement policy puts there. `make` may be
// called twice.
template <class Make>
Plan make_with_room(const PlanOptions& options, const Make& make) {
  try {
    return make(options);
  } catch (const NoRoom&) {
    PlanOptions seeking = options;
    seeking.seeks_room = true;
    seeking.stays_where_it_was = false;
    return make(seeking);
  }
}

// What planning the rest changes of a plan.
class PlanBefore {
 public:
  explicit PlanBefore(const Plan& plan)
      : units_(plan.units.size()),
        first_timed_(plan.first_timed),
        timed_further_(plan.timed_further),
        results_(plan.results) {}

  void restore(Plan& plan) const {
    plan.windows.clear();
    plan.units.shrink_to(units_);
    plan.replicas.shrink_to(units_);
    plan.first_timed = first_timed_;
    plan.timed_further = timed_further_;
    plan.results = results_;
  }

 private:
  const std::size_t units_;
  const UnitId first_timed_;
  const std::size_t timed_further_;
  const std::vector<Plan::Result> results_;
};

}  // namespace

Plan make_plan(const Graph& graph, const Machine& machine, const Scenario& scenario,
               const PlanOptions& options) {
  return make_with_room(options, [&](const PlanOptions& chosen) {
    return Planner(graph, machine, chosen).make(scenario);
  });
}

Plan make_plan(const Graph& graph, const Graph& left, const Machine& machine,
               const Scenario& scenario, const PlanOptions& options) {
  if (&graph == &left) return make_plan(graph, machine, scenario, options);
  Plan plan;
  plan_rest(left, machine, scenario, find_goal(graph, scenario, options.saved), plan, {}, options);
  return plan;
}

void plan_rest(const Graph& graph, const Machine& machine, const Scenario& scenario,
               const Goal& goal, Plan& plan, const Remains& remains, const PlanOptions& options) {
  TROUPE_ASSERT(plan.windows.empty());
  const PlanBefore before(plan);
  plan = make_with_room(options, [&](const PlanOptions& chosen) {
    Planner planner(graph, machine, chosen, 0, std::move(plan));
    try {
      return planner.make_rest(scenario, goal, remains);
    } catch (...) {
      plan = planner.take_plan();
      before.restore(plan);
      throw;
    }
  });
}

WindowPlanner::WindowPlanner(const Graph& graph, const Machine& machine, PlanOptions options,
                             std::uint32_t first_window)
    : planner_(std::make_unique<Planner>(graph, machine, std::move(options), first_window)) {}
WindowPlanner::~WindowPlanner() = default;

PlannedWindow WindowPlanner::plan(OpId keep_from) {
  PlannedWindow planned = planner_->make_next(
      planner_->take_appended(), [keep_from](OpId op) { return op >= keep_from; }, true, {});
  planner_->forget_ops(keep_from);
  return planned;
}

PlannedWindow WindowPlanner::plan(OpRanges ops, const std::function<bool(OpId)>& may_be_read,
                                  bool timed, std::span<const Duration> busy) {
  return planner_->make_next(std::move(ops), may_be_read, timed, busy);
}

ReplicaSpec WindowPlanner::add_given(OpId op, MemoryId memory) {
  return planner_->add_given(op, memory);
}

void WindowPlanner::on_completed(std::uint32_t window) {
  planner_->on_completed(window);
}

void WindowPlanner::forget(std::uint32_t window, ReplicaId replica) {
  planner_->forget(window, replica);
}

const Plan& WindowPlanner::plan() const {
  return planner_->plan();
}

}  // namespace troupe
