#include "core/result/summary.hpp"

#include "core/base/assert.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace troupe {
namespace {

// The rows of a timeline: streams of devices, then directions of links.
class Tracks {
 public:
  explicit Tracks(const Machine& machine) {
    for (const Device& device : machine.devices) {
      first_.push_back(static_cast<std::uint32_t>(tracks_.size()));
      for (int s = 0; s < device.streams; ++s) {
        tracks_.push_back({device.name, device.streams == 1
                                            ? device.name
                                            : fmt::format("{} stream {}", device.name, s)});
      }
    }
    for (std::size_t l = 0; l < machine.links.size(); ++l) {
      first_.push_back(static_cast<std::uint32_t>(tracks_.size()));
      for (const Direction d : {Direction::forward, Direction::backward}) {
        tracks_.push_back({machine.links[l].name, direction_name(machine, LinkId::at(l), d)});
      }
    }
  }

  std::uint32_t track(ResourceId resource, std::uint32_t lane) const {
    return first_[resource.index()] + lane;
  }
  std::vector<Track> take() { return std::move(tracks_); }

 private:
  std::vector<std::uint32_t> first_;  // by resource
  std::vector<Track> tracks_;
};

class Summary {
 public:
  Summary(const Graph& graph, const Machine& machine, Plan& plan, RunResult& result)
      : graph_(graph), machine_(machine), plan_(plan), tracks_(machine) {
    for (auto& [resource, share] : result.shares) plan.put_back(resource, std::move(share));
    result.shares.clear();
    origin_ = result.origin.value_or(Instant{});
  }

  // Calls visit(i, unit, its share) for each timed unit that finished, in graph order.
  template <class Visit>
  void each_finished(Visit visit) const {
    ShareTable<> shares;
    for (const Window& window : plan_.windows) {
      if (!window.timed) continue;
      shares.enter(window);
      for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
        const Unit& unit = plan_.units[u];
        // A share that never went out, or whose actor died, has not come back.
        const Share* const share = shares.find(unit.ref.resource);
        if (share == nullptr || !share->items[unit.ref.item].finished()) continue;
        visit(u - first_timed(), unit, *share);
      }
    }
  }

  void fill(ScenarioReport& report) {
    report.planned = plan_.timed_units();
    add_times(report);
    add_bound(report);
    add_timeline(report);
  }

 private:
  std::size_t first_timed() const {
    return plan_.first_timed ? plan_.first_timed.index() : plan_.units.size();
  }

  void add_times(ScenarioReport& report) {
    Instant last = origin_;
    std::vector<Duration> busy(machine_.devices.size() + 2 * machine_.links.size(), Duration{0});
    for (const Window& window : plan_.windows) {
      if (!window.timed) continue;
      for (const auto& [resource, share] : window.shares) {
        const bool is_device = resource.index() < machine_.devices.size();
        for (std::uint32_t i = 0; i < share.size(); ++i) {
          const Share::Item& item = share.items[i];
          if (!item.finished()) continue;
          ++report.finished;
          if (share.is_transfer()) ++report.transfers;
          if (plan_.units[item.unit.index()].makes_result) ++report.ops;
          report.serial += share.busy(i);
          last = std::max(last, item.end);
          busy[is_device ? resource.index()
                         : 2 * resource.index() - machine_.devices.size() + item.lane] +=
              share.busy(i);
        }
      }
    }
    report.makespan = last - origin_;
    add_resources(report, busy);
  }

  // A row for each device and for each direction of a link.
  void add_resources(ScenarioReport& report, std::span<const Duration> busy) {
    for (std::size_t row = 0; row < busy.size(); ++row) {
      ResourceUse use;
      use.busy = busy[row];
      if (row < machine_.devices.size()) {
        use.name = machine_.devices[row].name;
        use.kind = ResourceUse::Kind::device;
        use.lanes = machine_.devices[row].streams;
      } else {
        const std::size_t l = (row - machine_.devices.size()) / 2;
        const auto d = static_cast<Direction>((row - machine_.devices.size()) % 2);
        use.name = direction_name(machine_, LinkId::at(l), d);
        use.kind = ResourceUse::Kind::link;
      }
      if (report.makespan.count() > 0) {
        use.utilisation = seconds(use.busy) / (use.lanes * seconds(report.makespan));
      }
      report.resources.push_back(std::move(use));
    }
  }

  // max(critical path, busiest device, busiest link direction)
  void add_bound(ScenarioReport& report) {
    report.lower_bound = critical_path();
    report.bound_by = "critical path";
    for (const ResourceUse& use : report.resources) {
      const Duration bound = use.busy / use.lanes;
      if (bound < report.lower_bound || bound.count() == 0) continue;
      report.lower_bound = bound;
      report.bound_by = use.name;
    }
  }

  // On a route of several links the next one may begin when the first chunk is there, and ends no
  // earlier than a chunk after the last. Chunks differ in a real run; the shortest bounds them all.
  Duration critical_path() const {
    struct Times {
      Duration ready{0};
      Duration finish{0};
      Duration shortest_chunk{0};
    };
    std::vector<Times> times(plan_.timed_units());
    Duration longest{0};
    DistinctInputs distinct;
    each_finished([&](std::size_t i, const Unit& unit, const Share& share) {
      Times& own = times[i];
      if (unit.transfer) {
        own.shortest_chunk = Duration{share.moves[unit.ref.item].shortest_chunk_ns};
      }
      Duration at_least{0};
      for (const ReplicaId input : distinct.of(unit, share)) {
        const UnitId p = maker_of(input);
        if (p.index() < first_timed()) continue;
        const Times& before = times[p.index() - first_timed()];
        if (plan_.chunks_between(p, UnitId::at(first_timed() + i)) == 1) {
          own.ready = std::max(own.ready, before.finish);
        } else {
          own.ready = std::max(own.ready, before.ready + before.shortest_chunk);
          at_least = std::max(at_least, before.finish + own.shortest_chunk);
        }
      }
      own.finish = std::max(own.ready + share.busy(unit.ref.item), at_least);
      longest = std::max(longest, own.finish);
    });
    return longest;
  }

  void add_timeline(ScenarioReport& report) {
    Timeline& timeline = report.timeline;
    // One label for each group, computed or moved.
    std::vector<std::uint32_t> label_of(graph_.group_count() * 2, Span::no_index);
    std::vector<std::uint32_t> span_of(plan_.timed_units(), Span::no_index);
    DistinctInputs distinct;
    std::size_t dependencies = 0;
    for (const Window& window : plan_.windows) {
      for (const auto& [resource, share] : window.shares) dependencies += share.inputs.size();
    }
    timeline.spans.reserve(report.finished);
    timeline.first_predecessor.reserve(report.finished + 1);
    timeline.predecessors.reserve(dependencies);
    timeline.first_predecessor.push_back(0);
    each_finished([&](std::size_t i, const Unit& unit, const Share& share) {
      const Share::Item& item = share.items[unit.ref.item];
      const OpId op = unit.op;
      const GroupId g = graph_.group_of(op);
      const Group& group = graph_.group(g);
      // The transfer that makes a copy's result goes by the copy's name.
      const bool moved = !unit.makes_result;
      std::uint32_t& label = label_of[g.index() * 2 + (moved ? 1 : 0)];
      if (label == Span::no_index) {
        label = static_cast<std::uint32_t>(timeline.labels.size());
        timeline.labels.push_back(moved ? "→" + group.name : group.name);
      }
      span_of[i] = static_cast<std::uint32_t>(timeline.spans.size());
      timeline.spans.push_back(
          {.track = tracks_.track(unit.ref.resource, item.lane),
           .label = label,
           .index = group.indexed ? op.value - group.first.value : Span::no_index,
           .start = Instant{item.start - origin_},
           .end = Instant{item.end - origin_}});
      for (const ReplicaId input : distinct.of(unit, share)) {
        const UnitId p = maker_of(input);
        if (p.index() < first_timed()) continue;
        timeline.predecessors.push_back(span_of[p.index() - first_timed()]);
      }
      timeline.first_predecessor.push_back(
          static_cast<std::uint32_t>(timeline.predecessors.size()));
    });
    timeline.tracks = tracks_.take();
  }

  const Graph& graph_;
  const Machine& machine_;
  const Plan& plan_;
  Tracks tracks_;
  Instant origin_{};
};

}  // namespace

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
                         const std::string& name, RunResult result) {
  ScenarioReport report;
  report.name = name;
  report.outcome = result.ending == Ending::done     ? Outcome::done
                   : result.ending == Ending::failed ? Outcome::failed
                                                     : Outcome::interrupted;
  report.error = describe(result.failure, graph, machine, plan);
  report.took = result.took;
  Summary(graph, machine, plan, result).fill(report);
  return report;
}

}  // namespace troupe
