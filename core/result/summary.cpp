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
    records_.resize(plan.units.size() - first_timed());
    for (auto& [resource, shares] : result.records) {
      for (ShareRecords& share : shares) {
        if (share.share.timed) {
          for (std::size_t i = 0; i < share.records.size(); ++i) {
            records_[share.share.unit[i].index() - first_timed()] = share.records[i];
          }
        }
        plan.put_back(resource, std::move(share.share));
        share = ShareRecords{};  // a big run would hold everything twice
      }
    }
    origin_ = result.origin.value_or(Instant{});
  }

  // Calls visit(i, unit, its inputs) for each timed unit that finished, in graph order.
  template <class Visit>
  void each_finished(Visit visit) const {
    ShareTable<> shares;
    DistinctInputs distinct;
    for (const Window& window : plan_.windows) {
      if (!window.timed) continue;
      shares.enter(window);
      for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
        const std::size_t i = u - first_timed();
        if (!records_[i].finished()) continue;
        const Unit& unit = plan_.units[u];
        visit(i, unit, distinct.of(unit, shares[unit.ref.resource]));
      }
    }
  }

  void fill(ScenarioReport& report) {
    report.planned = records_.size();
    add_times(report);
    add_resources(report);
    add_bound(report);
    add_timeline(report);
  }

 private:
  std::size_t first_timed() const {
    return plan_.first_timed ? plan_.first_timed.index() : plan_.units.size();
  }
  const Unit& unit(std::size_t i) const { return plan_.units[first_timed() + i]; }

  void add_times(ScenarioReport& report) {
    Instant last = origin_;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!records_[i].finished()) continue;
      ++report.finished;
      if (unit(i).transfer) ++report.transfers;
      report.serial += records_[i].busy;
      last = std::max(last, records_[i].end);
    }
    report.makespan = last - origin_;
    report.ops = count_ops();
  }

  // Ops whose own unit finished: the kernel, or the last transfer of a copy.
  std::uint64_t count_ops() const {
    std::uint64_t ops = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!records_[i].finished()) continue;
      if (unit(i).makes_result) ++ops;
    }
    return ops;
  }

  // Rows for devices and for the link directions that were used.
  void add_resources(ScenarioReport& report) {
    std::vector<Duration> busy(machine_.devices.size() + 2 * machine_.links.size(), Duration{0});
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (!records_[i].finished()) continue;
      const std::size_t r = unit(i).ref.resource.index();
      const std::size_t row =
          r < machine_.devices.size()
              ? r
              : machine_.devices.size() + 2 * (r - machine_.devices.size()) + records_[i].lane;
      busy[row] += records_[i].busy;
    }
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
    std::vector<Duration> ready(records_.size(), Duration{0});
    std::vector<Duration> finish(records_.size(), Duration{0});
    Duration longest{0};
    each_finished([&](std::size_t i, const Unit&, std::span<const ReplicaId> inputs) {
      Duration at_least{0};
      for (const ReplicaId input : inputs) {
        const UnitId p = maker_of(input);
        if (p.index() < first_timed()) continue;
        const std::size_t k = p.index() - first_timed();
        if (plan_.chunks_between(p, UnitId::at(first_timed() + i)) == 1) {
          ready[i] = std::max(ready[i], finish[k]);
        } else {
          ready[i] = std::max(ready[i], ready[k] + Duration{records_[k].shortest_chunk_ns});
          at_least = std::max(at_least, finish[k] + Duration{records_[i].shortest_chunk_ns});
        }
      }
      finish[i] = std::max(ready[i] + records_[i].busy, at_least);
      longest = std::max(longest, finish[i]);
    });
    return longest;
  }

  void add_timeline(ScenarioReport& report) {
    Timeline& timeline = report.timeline;
    // One label for each group, computed or moved.
    std::vector<std::uint32_t> label_of(graph_.group_count() * 2, Span::no_index);
    std::vector<std::uint32_t> span_of(records_.size(), Span::no_index);
    std::size_t dependencies = 0;
    for (const Window& window : plan_.windows) {
      for (const auto& [resource, share] : window.shares) dependencies += share.inputs.size();
    }
    timeline.spans.reserve(records_.size());
    timeline.first_predecessor.reserve(records_.size() + 1);
    timeline.predecessors.reserve(dependencies);
    timeline.first_predecessor.push_back(0);
    each_finished([&](std::size_t i, const Unit& unit, std::span<const ReplicaId> inputs) {
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
          {.track = tracks_.track(unit.ref.resource, records_[i].lane),
           .label = label,
           .index = group.indexed ? op.value - group.first.value : Span::no_index,
           .start = Instant{records_[i].start - origin_},
           .end = Instant{records_[i].end - origin_}});
      for (const ReplicaId input : inputs) {
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
  std::vector<Record> records_;  // of timed units
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

ScenarioReport summarize(const Graph& graph, const Machine& machine, Plan& plan,
                         const std::string& name, RunResult result) {
  ScenarioReport report;
  report.name = name;
  report.outcome = result.ending == Ending::done     ? Outcome::done
                   : result.ending == Ending::failed ? Outcome::failed
                                                     : Outcome::interrupted;
  report.error = result.cause;
  report.took = result.took;
  Summary(graph, machine, plan, result).fill(report);
  return report;
}

}  // namespace troupe
