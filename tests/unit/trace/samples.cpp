#include "tests/unit/trace/samples.hpp"

#include <algorithm>
#include <utility>

namespace troupe::samples {

std::uint32_t Scenario::track(const std::string& resource, const std::string& name) {
  report_.timeline.tracks.push_back({resource, name});
  free_at_.emplace_back();
  return static_cast<std::uint32_t>(report_.timeline.tracks.size() - 1);
}

std::uint32_t Scenario::label(const std::string& name) {
  report_.timeline.labels.push_back(name);
  return static_cast<std::uint32_t>(report_.timeline.labels.size() - 1);
}

std::uint32_t Scenario::add(std::uint32_t track, std::uint32_t label, std::uint32_t index,
                            Duration length, const std::vector<std::uint32_t>& after) {
  Timeline& t = report_.timeline;
  Instant start = free_at_[track];
  for (const std::uint32_t p : after) start = std::max(start, t.spans[p].end);
  free_at_[track] = start + length;
  if (t.first_predecessor.empty()) t.first_predecessor.push_back(0);
  t.predecessors.insert(t.predecessors.end(), after.begin(), after.end());
  t.first_predecessor.push_back(static_cast<std::uint32_t>(t.predecessors.size()));
  t.spans.push_back({track, label, index, start, start + length});
  return static_cast<std::uint32_t>(t.spans.size() - 1);
}

ScenarioReport Scenario::finish(const std::string& bound_by, Duration lower_bound) {
  const Timeline& t = report_.timeline;
  std::vector<Duration> busy(t.tracks.size());
  for (const Span& s : t.spans) {
    busy[s.track] += s.end - s.start;
    report_.serial += s.end - s.start;
    report_.makespan = std::max(report_.makespan, s.end.time_since_epoch());
    const bool moves = t.tracks[s.track].name != t.tracks[s.track].resource;
    ++(moves ? report_.transfers : report_.ops);
  }
  for (std::size_t i = 0; i < t.tracks.size(); ++i) {
    const bool is_link = t.tracks[i].name != t.tracks[i].resource;
    report_.resources.push_back(
        {.name = t.tracks[i].name,
         .kind = is_link ? ResourceUse::Kind::link : ResourceUse::Kind::device,
         .busy = busy[i],
         .streams = 1,
         .utilisation =
             report_.makespan.count() > 0 ? seconds(busy[i]) / seconds(report_.makespan) : 0});
  }
  report_.planned = report_.ops + report_.transfers;
  report_.finished = report_.planned;
  report_.bound_by = bound_by;
  report_.lower_bound = lower_bound;
  return report_;
}

ScenarioReport run_and_copy(const std::string& name, bool at_once, std::uint32_t steps,
                            Duration compute, Duration copy) {
  Scenario scenario(name);
  scenario.track("cpu", "cpu");
  const std::uint32_t gpu = scenario.track("gpu0", "gpu0");
  scenario.track("pcie0", "pcie0 host→vram0");
  const std::uint32_t link = scenario.track("pcie0", "pcie0 vram0→host");
  const std::uint32_t run = scenario.label("run");
  const std::uint32_t move = scenario.label("copy → host");
  std::vector<std::uint32_t> runs;
  for (std::uint32_t i = 0; i < steps; ++i) runs.push_back(scenario.add(gpu, run, i, compute));
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::vector<std::uint32_t> wait_for_all{runs[i], runs.back()};
    scenario.add(link, move, i, copy, at_once ? std::vector{runs[i]} : wait_for_all);
  }
  ScenarioReport report =
      scenario.finish("pcie0 vram0→host", std::max(compute * steps, copy * steps));
  if (steps > 0) report.lower_bound += std::min(compute, copy);
  report.verified = true;
  return report;
}

Report one_gpu() {
  using std::chrono::microseconds;
  Report report;
  report.machine = "one-gpu";
  report.mode = "simulate";
  report.seed = 1;
  Scenario run("Run on GPU");
  run.track("cpu", "cpu");
  const std::uint32_t gpu = run.track("gpu0", "gpu0");
  const std::uint32_t label = run.label("run");
  for (std::uint32_t i = 0; i < 10; ++i) run.add(gpu, label, i, microseconds{30'890});
  report.scenarios.push_back(run.finish("gpu0", microseconds{308'900}));
  report.scenarios.push_back(
      run_and_copy("Run on GPU, then copy", false, 10, microseconds{30'890}, microseconds{99'830}));
  report.scenarios.push_back(
      run_and_copy("Run on GPU and copy", true, 10, microseconds{30'890}, microseconds{99'830}));
  report.notes = {"Copies use pinned host memory."};
  return report;
}

}  // namespace troupe::samples
