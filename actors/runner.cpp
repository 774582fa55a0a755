#include "actors/runner.hpp"

#include "actors/nodes/cluster.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/plan/planner.hpp"
#include "core/result/save.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// What an interrupted run has left, as a sentence: "'nap' on cpu0 was still under way …".
std::string left_behind(const std::vector<UnitId>& units, Duration grace, const Graph& graph,
                        const Machine& machine, const Plan& plan) {
  const auto name = [&](std::size_t i) { return unit_name(graph, machine, plan, units[i]); };
  const std::string when =
      fmt::format("still under way {} after the interrupt, and", format_duration(grace));
  if (units.size() == 1) return fmt::format("{} was {} was left.", name(0), when);
  constexpr std::size_t named_max = 3;
  std::string names = name(0);
  for (std::size_t i = 1; i < std::min(units.size(), named_max); ++i) names += ", " + name(i);
  if (units.size() > named_max) names += fmt::format(" and {} more", units.size() - named_max);
  return fmt::format("{} ops and transfers were {} were left: {}.", units.size(), when, names);
}

// What the tensors of a run on several nodes may take: each node has said how much it has.
std::uint64_t ram_of(const Machine& machine) {
  std::uint64_t bytes = 0;
  for (const Memory& memory : machine.memories) {
    if (memory.kind == MemoryKind::ram) bytes += memory.size_bytes;
  }
  return bytes;
}

}  // namespace

Run::Run(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
         RunOptions options)
    : machine_(machine),
      graph_(graph),
      scenarios_(scenarios),
      options_(std::move(options)),
      setting_(make_run_setting(options_.mode, machine, options_.verify,
                                options_.cluster != nullptr ? Nodes::several : Nodes::this_one)) {
  if (options_.cluster != nullptr && !options_.ram_bytes) options_.ram_bytes = ram_of(machine);
  plan_all(plan_options(setting_, machine, options_.ram_bytes));
}

void Run::plan_all(PlanOptions planning) {
  std::vector<const SavedFile*> pending;  // that no scenario before makes
  for (const SavedFile& file : options_.saves) pending.push_back(&file);
  for (const Scenario& scenario : scenarios_) {
    planning.saved.clear();
    for (const SavedFile* file : pending) {
      planning.saved.insert(planning.saved.end(), file->ops.begin(), file->ops.end());
    }
    std::sort(planning.saved.begin(), planning.saved.end());
    const Plan& plan = plans_.emplace_back(make_plan(graph_, machine_, scenario, planning));
    op_count_ += plan.ops.size();
    if (!setting_.compares_results) plans_.back().ops = {};  // for verification only
    const auto made = std::stable_partition(
        pending.begin(), pending.end(), [&](const SavedFile* f) { return !keeps_all(plan, *f); });
    saves_.emplace_back(made, pending.end());
    pending.erase(made, pending.end());
  }
  if (pending.empty()) return;
  const SavedFile& file = *pending.front();
  throw usage_error(file.place,
                    fmt::format("no scenario that is run makes {}{}, to be saved to '{}'",
                                file.ops.size() > 1 ? "all of the tensors from " : "",
                                graph_.name(file.ops.front()), file.path.string()),
                    "list a task that makes or reads it in a scenario, or don't save it");
}

Report Run::perform() {
  Report report;
  report.machine = machine_.name;
  report.mode = setting_.name;
  report.seed = options_.seed;
  // Tensors on other nodes are none of this process's.
  store_.emplace(machine_,
                 options_.cluster != nullptr ? MemoryStore::Backing::accounted : setting_.backing);
  stored_results_.emplace(*store_);
  if (setting_.has_values()) {
    for (const Plan& plan : plans_) {
      for (const Window& window : plan.windows) load_kernels(graph_.kinds(), window);
    }
  }
  bool has_failed = false;
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    ScenarioReport& scenario = report.scenarios.emplace_back();
    scenario.name = scenarios_[i].name;
    scenario.planned = plans_[i].timed_units() - plans_[i].timed_further;
    if (!has_failed && is_interrupted()) report.interrupted = true;
    if (has_failed || report.interrupted) {
      scenario.outcome = Outcome::not_run;
      continue;
    }
    perform(i, report);
    if (scenario.outcome == Outcome::interrupted) report.interrupted = true;
    has_failed = scenario.outcome == Outcome::failed;
    if (is_interrupted()) continue;  // kernels may be under way
    runtime_.reset();
    plans_[i] = Plan{};
    store_->clear();
    if (options_.cluster != nullptr) options_.cluster->end_run();
  }
  return report;
}

void Run::perform(std::size_t index, Report& report) {
  const Scenario& scenario = scenarios_[index];
  Plan& plan = plans_[index];
  ScenarioReport& result = report.scenarios.back();
  bool has_begun = report.scenarios.size() > 1;
  try {
    report_progress(scenario, RunProgress::Phase::reserving, 0, 0);
    prepare(plan);
    if (is_interrupted()) {
      result.outcome = Outcome::interrupted;
      return;
    }
    RunResult outcome = act(scenario, plan, has_begun);
    if (!outcome.under_way.empty()) {
      report.notes.push_back(
          fmt::format("'{}': {}", scenario.name,
                      left_behind(outcome.under_way, options_.grace, graph_, machine_, plan)));
    }
    result = summarize(graph_, machine_, plan, scenario.name, outcome, options_.keep_timeline);
    // The interrupt may have come when the last item was done, but not yet reported.
    if (result.outcome == Outcome::interrupted && result.finished == result.planned) {
      result.outcome = Outcome::done;
    }
    if (result.outcome == Outcome::done && setting_.compares_results) {
      check(scenario, plan, report);
    }
    if (result.outcome == Outcome::done && result.verified != false && !report.interrupted) {
      save(index, report);
    }
  } catch (const Error& error) {
    // A node that is waited for no longer.
    if (is_interrupted() && options_.cluster != nullptr) {
      if (result.outcome != Outcome::done) result.outcome = Outcome::interrupted;
      report.interrupted = true;
      return;
    }
    if (!has_begun) throw;
    result.outcome = Outcome::failed;
    result.error = error.what();
  }
}

void Run::prepare(Plan& plan) {
  if (options_.cluster != nullptr) {
    options_.cluster->begin_run(machine_, plan, graph_.types());
    plan.replicas = {};
    return;
  }
  // Devices and links that work at the same time hold more tensors than in graph order.
  for (std::uint64_t& count : plan.buffers) {
    count *= machine_.devices.size() + machine_.links.size();
  }
  const std::span<const ReplicaSpec> replicas = plan.replicas.slice(0, plan.replicas.size());
  store_->reserve_buffers(replicas, graph_.types(), plan.buffers,
                          [this] { return !is_interrupted(); });
  // A simulation needs no store if all tensors fit into their memories at once.
  if (setting_.has_values() || !store_->has_room(replicas, graph_.types())) {
    store_->install(replicas, graph_.types());
  }
  plan.replicas = {};
}

Results& Run::results() {
  return options_.cluster != nullptr ? options_.cluster->results() : *stored_results_;
}

RunResult Run::act(const Scenario& scenario, Plan& plan, bool& has_begun) {
  runtime_ = std::make_unique<ActorRuntime>(machine_, graph_.kinds(), *store_, setting_,
                                            ActorRuntimeOptions{.seed = options_.seed,
                                                                .interrupted = options_.interrupted,
                                                                .grace = options_.grace,
                                                                .nodes = options_.cluster});
  for (Window& window : std::exchange(plan.windows, {})) runtime_->send(std::move(window));
  runtime_->send_end();
  has_begun = true;
  runtime_->begin();
  while (!runtime_->is_over()) {
    runtime_->proceed(ActorRuntime::News::end);
    report_progress(scenario, RunProgress::Phase::running, runtime_->items_done(),
                    plan.units.size());
  }
  plan.windows = runtime_->take_left();
  RunResult result = runtime_->take_result();
  if (!is_interrupted()) runtime_.reset();
  return result;
}

// On a thread of its own, which can be left.
std::optional<Verdict> Run::verdict_on(const Scenario& scenario, const Plan& plan) {
  report_progress(scenario, RunProgress::Phase::verifying, 0, plan.ops.size());
  checked_ = 0;
  verdict_ = std::async([this, &plan] {
    return verify(graph_, plan, results(), [this] {
      ++checked_;
      return !is_interrupted();
    });
  });
  Interruption interruption(options_.interrupted, options_.grace);
  while (verdict_.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout) {
    if (interruption.is_grace_over()) return std::nullopt;
    report_progress(scenario, RunProgress::Phase::verifying, checked_, plan.ops.size());
  }
  return verdict_.get();
}

void Run::check(const Scenario& scenario, const Plan& plan, Report& report) {
  if (is_interrupted()) {
    report.interrupted = true;
    return;
  }
  ScenarioReport& result = report.scenarios.back();
  const std::optional<Verdict> verdict = verdict_on(scenario, plan);
  if (!verdict || !verdict->complete) report.interrupted = true;
  if (!verdict) return;
  if (verdict->complete || !verdict->equal) result.verified = verdict->equal;
  result.mismatch = verdict->mismatch;
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

void Run::save(std::size_t scenario, Report& report) {
  if (!setting_.has_values()) return;
  const std::string& name = scenarios_[scenario].name;
  std::uint64_t done = 0;
  for (const SavedFile* file : saves_[scenario]) {
    report_progress(scenarios_[scenario], RunProgress::Phase::saving, done++,
                    saves_[scenario].size());
    if (is_interrupted()) {
      report.interrupted = true;
      return;
    }
    save_results(graph_, plans_[scenario], results(), *file);
  }
  if (done == 0) return;
  const SavedFile& last = *saves_[scenario].back();
  report.notes.push_back(done == 1 ? fmt::format("'{}': saved '{}'.", name, last.path.string())
                                   : fmt::format("'{}': saved {} files, the last of them '{}'.",
                                                 name, done, last.path.string()));
}

bool Run::is_interrupted() const {
  return options_.interrupted != nullptr && options_.interrupted->load();
}

void Run::report_progress(const Scenario& scenario, RunProgress::Phase phase, std::uint64_t done,
                          std::uint64_t total) const {
  if (options_.on_progress) options_.on_progress({scenario.name, phase, done, total});
}

}  // namespace troupe
