#include "actors/runner.hpp"

#include "actors/nodes/cluster.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/plan/planner.hpp"
#include "core/result/save.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <unordered_set>
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

// What the units from `first` on make, as a sentence.
std::string made_again(const Plan& plan, UnitId first, const Remains& remains) {
  std::unordered_set<OpId> finished;
  for (std::size_t u = 0; u < first.index(); ++u) {
    if (plan.units[u].makes_result && remains.is_made[u]) finished.insert(plan.units[u].op);
  }
  std::uint64_t again = 0;
  std::uint64_t others = 0;
  for (std::size_t u = first.index(); u < plan.units.size(); ++u) {
    const Unit& unit = plan.units[u];
    if (unit.makes_result) ++(finished.contains(unit.op) ? again : others);
  }
  return fmt::format("Of the ops that had finished, {} made again; of the others, {} planned anew.",
                     again == 1 ? "1 is" : fmt::format("{} are", again),
                     others == 1 ? "1 is" : fmt::format("{} are", others));
}

std::vector<OpId> ops_of(std::span<const SavedFile* const> files) {
  std::vector<OpId> ops;
  for (const SavedFile* file : files) ops.insert(ops.end(), file->ops.begin(), file->ops.end());
  std::sort(ops.begin(), ops.end());
  return ops;
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
  planning_ = plan_options(setting_, machine, options_.ram_bytes);
  planning_.waits_across_nodes = options_.cluster == nullptr;
  plan_all();
}

void Run::plan_all() {
  std::vector<const SavedFile*> pending;  // that no scenario before makes
  for (const SavedFile& file : options_.saves) pending.push_back(&file);
  for (const Scenario& scenario : scenarios_) {
    PlanOptions options = planning_;
    options.saved = ops_of(pending);
    const Plan& plan = plans_.emplace_back(make_plan(graph_, machine_, scenario, options));
    op_count_ += plan.ops.size();
    // For verification, and to plan again.
    if (!setting_.compares_results && !replans()) plans_.back().ops = {};
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
  execution_.emplace(machine_, graph_.kinds(), setting_, MemoryStore::Counting::acquired,
                     options_.cluster, options_.losses);
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
    execution_->clear();
    plans_[i] = Plan{};
  }
  return report;
}

void Run::perform(std::size_t index, Report& report) {
  ScenarioReport& result = report.scenarios.back();
  Course course{.index = index, .has_begun = report.scenarios.size() > 1};
  try {
    report_progress(scenarios_[index], RunProgress::Phase::reserving, 0, 0);
    begin(course, report);
    if (is_interrupted()) {
      result.outcome = Outcome::interrupted;
      return;
    }
    act(course);
    do {
      while (is_to_go_on(course)) go_on(course, report);
    } while (!conclude(course, report));
  } catch (const Error& error) {
    // A node that is waited for no longer.
    if (is_interrupted() && options_.cluster != nullptr) {
      if (result.outcome != Outcome::done) result.outcome = Outcome::interrupted;
      report.interrupted = true;
      return;
    }
    if (!course.has_begun) throw;
    result.outcome = Outcome::failed;
    result.error = error.what();
  }
}

void Run::begin(Course& course, Report& report) {
  Plan& plan = plans_[course.index];
  do {
    course.lost = count_lost();
    if (course.lost == 0) continue;
    const PlanOptions options = planning(course);
    const std::string lost = lost_names(options.lost_nodes);
    if (!replans()) throw run_error(lost, "see what has become of it, and start it again");
    try {
      plan = make_plan(graph_, machine_, scenarios_[course.index], options);
    } catch (const Error& error) {
      throw run_error(fmt::format("{}, and without it: {}", lost, error.problem()), error.remedy());
    }
    report.notes.push_back(
        fmt::format("'{}': {}; planned without it.", scenarios_[course.index].name, lost));
  } while (!prepare(course, UnitId{0}));
  if (!replans()) plan.replicas = {};
}

bool Run::prepare(const Course& course, UnitId first) {
  try {
    execution_->prepare(plans_[course.index], first, graph_.types(),
                        [this] { return !is_interrupted(); });
    return true;
  } catch (const Error&) {
    const std::size_t lost = count_lost();
    if (!replans() || lost == course.lost || lost == machine_.nodes.size()) throw;
    return false;
  }
}

void Run::act(Course& course) {
  Plan& plan = plans_[course.index];
  ActorRuntime& actors = execution_->start(
      {.seed = options_.seed, .interrupted = options_.interrupted, .grace = options_.grace});
  std::uint64_t items = 0;
  for (Window& window : std::exchange(plan.windows, {})) {
    items += window.items;
    actors.send(std::move(window));
  }
  actors.send_end();
  course.has_begun = true;
  actors.begin();
  while (!actors.is_over()) {
    actors.proceed(ActorRuntime::News::end);
    report_progress(scenarios_[course.index], RunProgress::Phase::running, actors.items_done(),
                    items);
  }
  plan.windows = actors.take_left();
  const RunResult before = std::exchange(course.result, actors.take_result());
  course.result.took += before.took;
  if (before.origin) course.result.origin = before.origin;
  course.is_cut = course.result.ending == Ending::failed;
  if (!is_interrupted()) execution_->stop();
}

bool Run::is_to_go_on(const Course& course) {
  if (!course.is_cut || !replans() || is_interrupted()) return false;
  // An op that fails would fail again.
  const UnitId failed = course.result.failure.unit;
  if (failed && !plans_[course.index].units[failed.index()].transfer) return false;
  return count_lost() > course.lost && count_lost() < machine_.nodes.size();
}

void Run::go_on(Course& course, Report& report) {
  const Scenario& scenario = scenarios_[course.index];
  Plan& plan = plans_[course.index];
  course.lost = count_lost();
  const PlanOptions options = planning(course);
  course.remains = find_remains(machine_, plan, std::span(plan.windows).subspan(course.past),
                                course.remains.is_made, options.lost_nodes);
  std::vector<Window> windows = std::exchange(plan.windows, {});
  const UnitId first = UnitId::at(plan.units.size());
  const std::string lost = lost_names(options.lost_nodes);
  try {
    plan_rest(graph_, machine_, scenario, plan, course.remains, options);
    report.notes.push_back(
        fmt::format("'{}': {}. {}", scenario.name, lost, made_again(plan, first, course.remains)));
    if (prepare(course, first)) act(course);
  } catch (const Error& error) {
    course.result.ending = Ending::failed;
    course.result.failure = {.cause = fmt::format("{}, and what is missing can't be made without "
                                                  "it: {}",
                                                  lost, error.what())};
    course.is_cut = false;
  }
  course.past = windows.size();
  std::move(plan.windows.begin(), plan.windows.end(), std::back_inserter(windows));
  plan.windows = std::move(windows);
}

bool Run::conclude(Course& course, Report& report) {
  const Scenario& scenario = scenarios_[course.index];
  Plan& plan = plans_[course.index];
  ScenarioReport& result = report.scenarios.back();
  if (!course.result.under_way.empty()) {
    report.notes.push_back(
        fmt::format("'{}': {}", scenario.name,
                    left_behind(course.result.under_way, options_.grace, graph_, machine_, plan)));
  }
  result = summarize(graph_, machine_, plan, scenario.name, course.result, options_.keep_timeline);
  // The interrupt may have come when the last item was done, but not yet reported.
  if (result.outcome == Outcome::interrupted && result.finished == result.planned) {
    result.outcome = Outcome::done;
  }
  if (result.outcome != Outcome::done) return true;
  try {
    if (setting_.compares_results) check(scenario, plan, report);
    if (result.verified != false && !report.interrupted) save(course, report);
    return true;
  } catch (const Error&) {
    course.is_cut = true;  // a node may be lost with its results
    if (!is_to_go_on(course)) throw;
    return false;
  }
}

PlanOptions Run::planning(const Course& course) {
  PlanOptions options = planning_;
  const auto& files = saves_[course.index];
  options.saved = ops_of(std::span(files).subspan(course.saved));
  options.lost_nodes = execution_->lost_nodes();
  return options;
}

std::size_t Run::count_lost() {
  const std::vector<bool>& lost = execution_->lost_nodes();
  return static_cast<std::size_t>(std::count(lost.begin(), lost.end(), true));
}

std::string Run::lost_names(const std::vector<bool>& lost) const {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < lost.size(); ++n) {
    if (lost[n]) names.push_back(machine_.nodes[n]);
  }
  return fmt::format("{} {} lost", fmt::join(names, ", "), names.size() == 1 ? "was" : "were");
}

// On a thread of its own, which can be left.
std::optional<Verdict> Run::verdict_on(const Scenario& scenario, const Plan& plan) {
  report_progress(scenario, RunProgress::Phase::verifying, 0, plan.ops.size());
  checked_ = 0;
  verdict_ = std::async([this, &plan] {
    return verify(graph_, plan, execution_->results(), [this] {
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

void Run::save(Course& course, Report& report) {
  if (!setting_.has_values()) return;
  const std::string& name = scenarios_[course.index].name;
  const std::vector<const SavedFile*>& files = saves_[course.index];
  for (std::size_t& done = course.saved; done < files.size(); ++done) {
    report_progress(scenarios_[course.index], RunProgress::Phase::saving, done, files.size());
    if (is_interrupted()) {
      report.interrupted = true;
      return;
    }
    save_results(graph_, plans_[course.index], execution_->results(), *files[done]);
  }
  if (files.empty()) return;
  const std::size_t done = files.size();
  const SavedFile& last = *files.back();
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
