// Checks that a timeline obeys its graph, from graph, machine and scenario alone, without the plan.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/trace/report.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::testing {

// Reports what is wrong as failed Boost.Test checks. For runs that ended well.
class TimelineCheck {
 public:
  TimelineCheck(const Graph& graph, const Machine& machine, const Scenario& scenario,
                const ScenarioReport& report);

  void run() const;

 private:
  // A row of the timeline: a stream of a device, or a direction of a link.
  struct Row {
    DeviceId device;  // or none
    MemoryId source;  // where it reads; a device in its own memory
    MemoryId target;  // where what it makes ends
    bool exclusive = true;
  };

  void read_rows();
  void read_windows(const Scenario& scenario);
  void read_spans();
  OpId further_output(OpId op, const std::string& name) const;

  const Row& row(const Span& s) const { return rows_[s.track]; }
  bool is_made_by_link(const Span& s) const { return !row(s).device; }
  void check_placement(OpId op) const;
  void check_inputs(OpId op) const;
  void check_source(OpId tensor, const Span& reader) const;
  void check_windows() const;
  void check_rows() const;
  void check_figures() const;

  const Graph& graph_;
  const Machine& machine_;
  const ScenarioReport& report_;
  std::vector<Row> rows_;
  std::map<OpId, std::size_t> window_of_;           // of the ops that the scenario lists
  std::map<OpId, std::vector<const Span*>> made_;   // the spans that go by an op's own name
  std::map<OpId, std::vector<const Span*>> moved_;  // and those that move its tensor
};

}  // namespace troupe::testing
