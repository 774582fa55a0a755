#include "actors/runner.hpp"

#include "actors/actor_runtime.hpp"
#include "core/base/error.hpp"
#include "core/plan/planner.hpp"
#include "core/result/summary.hpp"
#include "core/result/verify.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace troupe {

Run::Run(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
         RunOptions options)
    : machine_(machine),
      graph_(graph),
      scenarios_(scenarios),
      options_(std::move(options)),
      setting_(make_run_setting(options_.mode, machine, options_.verify)) {
  std::optional<std::uint64_t> ram_bytes = options_.ram_bytes;
  if (setting_.has_values() && !ram_bytes) ram_bytes = BufferPool::usable_host_bytes();
  const PlanOptions planning = plan_options(setting_, machine, ram_bytes);
  for (const Scenario& scenario : scenarios) {
    plans_.push_back(make_plan(graph, machine, scenario, planning));
    op_count_ += plans_.back().ops.size();
    if (!setting_.compares_results) plans_.back().ops = {};  // for verification only
  }
}

Report Run::perform() {
  Report report;
  report.machine = machine_.name;
  report.mode = setting_.name;
  report.seed = options_.seed;
  MemoryStore store(machine_, setting_.backing);
  bool has_failed = false;
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    ScenarioReport& scenario = report.scenarios.emplace_back();
    scenario.name = scenarios_[i].name;
    scenario.planned = plans_[i].timed_units();
    if (!has_failed && is_interrupted()) report.interrupted = true;
    if (has_failed || report.interrupted) {
      scenario.outcome = Outcome::not_run;
      continue;
    }
    perform(scenarios_[i], plans_[i], store, report);
    plans_[i] = Plan{};
    store.clear();
    if (scenario.outcome == Outcome::interrupted) report.interrupted = true;
    has_failed = scenario.outcome == Outcome::failed;
  }
  return report;
}

void Run::perform(const Scenario& scenario, Plan& plan, MemoryStore& store, Report& report) {
  ScenarioReport& result = report.scenarios.back();
  bool has_begun = report.scenarios.size() > 1;
  try {
    tell(scenario, RunProgress::Stage::reserving, 0, 0);
    // Devices and links that work at the same time hold more tensors than in graph order.
    for (std::uint64_t& count : plan.buffers) {
      count *= machine_.devices.size() + machine_.links.size();
    }
    const std::span<const ReplicaSpec> replicas = plan.replicas.slice(0, plan.replicas.size());
    store.reserve_buffers(replicas, graph_.types(), plan.buffers,
                          [this] { return !is_interrupted(); });
    // A simulation needs no store if all tensors fit into their memories at once.
    if (setting_.has_values() || !store.has_room(replicas, graph_.types())) {
      store.install(replicas, graph_.types());
    }
    plan.replicas = {};
    if (is_interrupted()) {
      result.outcome = Outcome::interrupted;
      return;
    }
    RunResult outcome = act(scenario, plan, store, has_begun);
    result = summarize(graph_, machine_, plan, scenario.name, std::move(outcome));
    // The interrupt may have come when the last item was done, but not yet reported.
    if (result.outcome == Outcome::interrupted && result.finished == result.planned) {
      result.outcome = Outcome::done;
    }
    if (result.outcome == Outcome::done && setting_.compares_results) {
      check(scenario, plan, store, report);
    }
  } catch (const Error& error) {
    if (!has_begun) throw;
    result.outcome = Outcome::failed;
    result.error = error.what();
  }
}

RunResult Run::act(const Scenario& scenario, Plan& plan, MemoryStore& store, bool& has_begun) {
  if (setting_.has_values()) load_kernels(graph_);
  ActorRuntime runtime(machine_, graph_.kinds(), store, setting_, {.seed = options_.seed});
  for (Window& window : plan.take_shares()) runtime.send(std::move(window));
  runtime.send_end();
  has_begun = true;
  runtime.begin();
  bool stop_requested = false;
  while (!runtime.is_over()) {
    runtime.proceed();
    tell(scenario, RunProgress::Stage::running, runtime.items_done(), plan.units.size());
    if (is_interrupted() && !std::exchange(stop_requested, true)) runtime.interrupt();
  }
  return runtime.take_result();
}

void Run::check(const Scenario& scenario, const Plan& plan, const MemoryStore& store,
                Report& report) const {
  if (is_interrupted()) {
    report.interrupted = true;
    return;
  }
  ScenarioReport& result = report.scenarios.back();
  std::uint64_t checked = 0;
  const Verdict verdict = verify(graph_, plan, store, [&] {
    tell(scenario, RunProgress::Stage::verifying, ++checked, plan.ops.size());
    return !is_interrupted();
  });
  if (verdict.complete || !verdict.equal) result.verified = verdict.equal;
  if (!verdict.complete) report.interrupted = true;
  result.mismatch = verdict.mismatch;
  const auto digests = std::count_if(plan.results.begin(), plan.results.end(),
                                     [](const Plan::Result& r) { return !r.is_kept; });
  if (result.verified == true && digests > 0) {
    report.notes.push_back(
        fmt::format("'{}': {} of {} results were compared by a digest of 128 bits, taken when the "
                    "last reader was done: to keep them all would have taken more than a quarter "
                    "of a memory. Digests take time within the run; --no-verify leaves them out.",
                    scenario.name, digests, plan.results.size()));
  }
}

bool Run::is_interrupted() const {
  return options_.interrupted != nullptr && options_.interrupted->load();
}

void Run::tell(const Scenario& scenario, RunProgress::Stage stage, std::uint64_t done,
               std::uint64_t total) const {
  if (options_.on_progress) options_.on_progress({scenario.name, stage, done, total});
}

}  // namespace troupe
