#include "actors/runner.hpp"

#include "actors/course.hpp"
#include "actors/execution.hpp"
#include "actors/nodes/cluster.hpp"
#include "actors/run_setting.hpp"
#include "actors/warm_up.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_options.hpp"
#include "core/plan/planner.hpp"
#include "core/result/save.hpp"
#include "core/result/verify.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// What the tensors of a run on several nodes may take: each node has said how much it has.
std::uint64_t ram_of(const Machine& machine) {
  std::uint64_t bytes = 0;
  for (std::size_t m = 0; m < machine.memories.size(); ++m) {
    if (is_host_ram(machine, MemoryId::at(m))) bytes += machine.memories[m].size_bytes;
  }
  return bytes;
}

// The same with the exit code of a run that has not begun.
Error before_anything_ran(const Error& error) {
  return usage_error(error.place(), error.problem(), error.remedy());
}

}  // namespace

class Run::Core {
 public:
  // As Run's.
  Core(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
       RunOptions options);
  Report perform();
  std::uint64_t op_count() const { return op_count_; }
  const RunSetting& setting() const { return setting_; }
  const Machine& machine() const { return machine_; }

 private:
  void load_all_kernels() const;
  // Fills the last scenario of `report`.
  void perform(std::size_t index, Report& report);
  void attempt(Course& course, std::size_t index, Report& report);
  // All scenarios up to this one are done: notes it in a checkpoint.
  void pass(std::size_t index, Report& report);
  // Removes the checkpoints if all is done, else says how to go on.
  void leave_checkpoints(Report& report);
  // Reports, compares and saves what was made. False: nodes were lost meanwhile.
  bool conclude(Course& course, std::size_t index, Report& report);
  void check(const Scenario& scenario, const Plan& plan, Report& report);
  // Blocks until `plan` has been verified; none: the run was interrupted before.
  std::optional<Verdict> verdict_on(const Scenario& scenario, const Plan& plan);
  void save(Course& course, std::size_t index, Report& report);
  void note_saves(const Course& course, std::size_t index, Report& report) const;
  // Makes the plans.
  void plan_all();
  void plan_what_is_left();
  // The run goes on from here.
  RunPosition position() const {
    return options_.resumed != nullptr ? options_.resumed->position : RunPosition{};
  }
  const Graph& left(std::size_t index) const {
    return left_ && index == position().scenario ? *left_ : graph_;
  }

  const std::optional<Machine> completed_;
  const Machine& machine_;
  const Graph& graph_;
  std::span<const Scenario> scenarios_;
  RunOptions options_;
  RunSetting setting_;
  PlanOptions planning_;
  std::vector<Plan> plans_;           // by scenario, until it has been performed
  std::vector<Course::Files> saves_;  // by scenario
  Course::Files left_out_;            // in `saves_` of none
  std::uint64_t op_count_ = 0;
  bool has_begun_ = false;     // a scenario
  std::optional<Graph> left_;  // in a scenario that is resumed
  std::string resumed_note_;

  // Kernels that were left use all members above and these, which are destroyed in reverse order.
  std::optional<Execution> execution_;  // since perform()
  std::atomic<std::uint64_t> checked_ = 0;
  std::future<Verdict> verdict_;
};

Run::Core::Core(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
                RunOptions options)
    : completed_(options.cluster != nullptr ? std::nullopt
                                            : completed_machine(options.mode, machine)),
      machine_(completed_ ? *completed_ : machine),
      graph_(graph),
      scenarios_(scenarios),
      options_(std::move(options)),
      setting_(make_run_setting(options_.mode, machine_, options_.verify,
                                options_.cluster != nullptr ? Nodes::several : Nodes::this_one)) {
  if (options_.cluster != nullptr) {
    setting_.widest_team = options_.cluster->widest_team(machine_);
    if (!options_.ram_bytes) options_.ram_bytes = ram_of(machine_);
  }
  planning_ = plan_options(setting_, machine_, options_.ram_bytes);
  planning_.waits_across_nodes = options_.cluster == nullptr;
  if (options_.checkpoints != nullptr && !setting_.has_values()) {
    throw usage_error("a simulation has no values that a checkpoint could keep", "run the file");
  }
  // Tensors that were made before are compared with those of this run's serial execution.
  if (options_.resumed != nullptr) setting_.widest_team = options_.resumed->widest_team;
  if (options_.checkpoints != nullptr) options_.checkpoints->set_widest_team(setting_.widest_team);
  plan_all();
  if (options_.resumed != nullptr) plan_what_is_left();
  if (options_.cluster != nullptr) options_.cluster->check_files(graph_, machine_, plans_);
}

void Run::Core::plan_what_is_left() {
  const auto [scenario, saved] = position();
  if (scenario >= scenarios_.size() || saved > saves_[scenario].size()) {
    throw usage_error("the checkpoint is of a run with more scenarios or files", "remove it");
  }
  for (std::size_t i = 0; i < scenario; ++i) plans_[i] = Plan{};
  Course::Files& files = saves_[scenario];
  files.erase(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(saved));
  const std::vector<OpId> loaded = options_.resumed->ops();
  resumed_note_ =
      fmt::format("Resumed from '{}', which has {} for '{}'.", options_.resumed->file.string(),
                  format_count(loaded.size(), "tensor"), scenarios_[scenario].name);
  if (loaded.empty()) return;
  left_ = options_.resumed->left_of(graph_);
  PlanOptions options = planning_;
  options.saved = ops_of(files);
  Plan& plan = plans_[scenario];
  plan = make_plan(graph_, *left_, machine_, scenarios_[scenario], options);
  const auto is_left = [&](const Unit& unit) {
    return unit.makes_result && !unit.is_further &&
           !std::binary_search(loaded.begin(), loaded.end(), unit.op);
  };
  const auto timed = static_cast<std::ptrdiff_t>(plan.timed_units());
  const auto ops = std::count_if(plan.units.end() - timed, plan.units.end(), is_left);
  resumed_note_ += fmt::format(" Of its ops, {} to be made; the report has no others.",
                               ops == 1 ? "1 is left" : fmt::format("{} are left", ops));
}

void Run::Core::plan_all() {
  std::vector<const SavedFile*> pending;  // that no scenario before makes
  for (const SavedFile& file : options_.saves) pending.push_back(&file);
  for (const Scenario& scenario : scenarios_) {
    PlanOptions options = planning_;
    options.saved = ops_of(pending);
    const Plan& plan = plans_.emplace_back(make_plan(graph_, machine_, scenario, options));
    op_count_ += plan.ops.size();
    if (!setting_.compares_results) plans_.back().ops = {};
    const auto made = std::stable_partition(
        pending.begin(), pending.end(), [&](const SavedFile* f) { return !keeps_all(plan, *f); });
    saves_.emplace_back(made, pending.end());
    pending.erase(made, pending.end());
  }
  if (options_.may_leave_out_saves) left_out_ = std::exchange(pending, {});
  if (pending.empty()) return;
  const SavedFile& file = *pending.front();
  throw usage_error(file.place,
                    fmt::format("no scenario that is run makes {}{}, to be saved to '{}'",
                                file.ops.size() > 1 ? "all of the tensors from " : "",
                                graph_.name(file.ops.front()), file.path.string()),
                    "list a task that makes or reads it in a scenario, or don't save it");
}

void Run::Core::load_all_kernels() const {
  for (const Plan& plan : plans_) {
    for (const Window& window : plan.windows) {
      for (const auto& [resource, share] : window.shares) load_kernels(graph_.kinds(), share);
    }
  }
}

Report Run::Core::perform() {
  Report report;
  report.machine = machine_.name;
  report.mode = setting_.name;
  report.seed = options_.seed;
  execution_.emplace(machine_, graph_.kinds(), setting_, MemoryStore::Counting::acquired,
                     options_.cluster, options_.losses);
  if (setting_.has_values()) {
    try {
      load_all_kernels();
    } catch (const Error& error) {
      throw before_anything_ran(error);
    }
  }
  if (options_.resumed != nullptr) {
    report.notes = options_.resumed->passed_over;
    report.notes.push_back(resumed_note_);
  }
  for (const SavedFile* file : left_out_) {
    if (!setting_.has_values()) break;
    report.notes.push_back(
        fmt::format("'{}' was not saved: the scenarios that were run don't make all of it.",
                    file->path.string()));
  }
  bool has_failed = false;
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    ScenarioReport& scenario = report.scenarios.emplace_back();
    scenario.name = scenarios_[i].name;
    scenario.planned = plans_[i].timed_units() - plans_[i].timed_further;
    if (i < position().scenario) {
      scenario.outcome = Outcome::done_before;
      continue;
    }
    if (!has_failed && options_.is_interrupted()) report.interrupted = true;
    if (has_failed || report.interrupted) {
      scenario.outcome = Outcome::not_run;
      continue;
    }
    perform(i, report);
    if (scenario.outcome == Outcome::interrupted) report.interrupted = true;
    has_failed = scenario.outcome == Outcome::failed;
    if (options_.is_interrupted()) continue;  // kernels may be under way
    execution_->clear();
    plans_[i] = Plan{};
    pass(i, report);
  }
  for (std::string& note : execution_->notes()) report.notes.push_back(std::move(note));
  if (options_.checkpoints != nullptr) leave_checkpoints(report);
  return report;
}

void Run::Core::perform(std::size_t index, Report& report) {
  Course course({.machine = machine_,
                 .graph = graph_,
                 .left = left(index),
                 .scenario = scenarios_[index],
                 .options = options_,
                 .planning = planning_,
                 .execution = *execution_},
                plans_[index], saves_[index],
                index == position().scenario ? position() : RunPosition{.scenario = index});
  attempt(course, index, report);
  if (const std::string note = course.checkpoint_note(); !note.empty()) {
    report.notes.push_back(fmt::format("'{}': {}", scenarios_[index].name, note));
  }
}

void Run::Core::attempt(Course& course, std::size_t index, Report& report) {
  ScenarioReport& result = report.scenarios.back();
  try {
    options_.report_progress({scenarios_[index].name, RunProgress::Phase::reserving});
    course.begin(report);
    if (options_.is_interrupted()) {
      result.outcome = Outcome::interrupted;
      return;
    }
    course.act();
    do {
      while (course.is_to_go_on()) course.go_on(report);
    } while (!conclude(course, index, report));
  } catch (const Error& error) {
    // A node that is waited for no longer.
    if (options_.is_interrupted() && options_.cluster != nullptr) {
      const bool is_done = course.has_begun() && result.outcome == Outcome::done;
      if (!is_done) result.outcome = Outcome::interrupted;
      report.interrupted = true;
      return;
    }
    const bool has_met_a_run = has_begun_ || course.has_begun() || execution_->has_lost_node();
    if (!has_met_a_run) throw before_anything_ran(error);  // so there is nothing to report
    result.outcome = Outcome::failed;
    result.error = error.what();
  }
  course.note_last_losses(report);
  has_begun_ = true;
}

void Run::Core::pass(std::size_t index, Report& report) {
  const ScenarioReport& result = report.scenarios.back();
  if (result.outcome != Outcome::done || result.verified == false) {
    options_.checkpoint_interval.reset();  // a run that goes on must come to this scenario again
  }
  if (!options_.writes_checkpoints() || index + 1 == scenarios_.size()) return;
  try {
    options_.checkpoints->write(graph_, {.scenario = index + 1}, {}, {});
  } catch (const Error& error) {
    report.notes.push_back(fmt::format("A checkpoint could not be written: {}.", error.what()));
    options_.tell(report.notes.back());
  }
}

void Run::Core::leave_checkpoints(Report& report) {
  const auto is_done = [](const ScenarioReport& s) {
    const bool is_right = s.outcome == Outcome::done && s.verified != false;
    return is_right || s.outcome == Outcome::done_before;
  };
  if (!report.interrupted &&
      std::all_of(report.scenarios.begin(), report.scenarios.end(), is_done)) {
    return options_.checkpoints->clear();
  }
  if (!options_.checkpoints->has_any()) return;
  report.notes.push_back(fmt::format("--resume {} goes on from the last checkpoint.",
                                     options_.checkpoints->path().string()));
}

bool Run::Core::conclude(Course& course, std::size_t index, Report& report) {
  course.summarize(report);
  ScenarioReport& result = report.scenarios.back();
  if (result.outcome != Outcome::done) return true;
  try {
    if (setting_.compares_results) check(scenarios_[index], plans_[index], report);
    if (result.verified != false && !report.interrupted) {
      save(course, index, report);
    } else if (setting_.has_values() && !saves_[index].empty()) {
      report.notes.push_back(fmt::format("'{}': nothing was saved.", result.name));
    }
    return true;
  } catch (const Error&) {
    if (!course.is_to_go_on_after_loss()) throw;
    return false;
  }
}

// On a thread of its own, which can be left.
std::optional<Verdict> Run::Core::verdict_on(const Scenario& scenario, const Plan& plan) {
  options_.report_progress({scenario.name, RunProgress::Phase::verifying, 0, plan.ops.size()});
  checked_ = 0;
  verdict_ = std::async([this, &plan] {
    return verify(graph_, plan, execution_->results(), setting_.comparison(), setting_.widest_team,
                  [this] {
                    ++checked_;
                    return !options_.is_interrupted();
                  });
  });
  Interruption interruption(options_.interrupted, options_.grace);
  while (verdict_.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout) {
    if (interruption.is_grace_over()) return std::nullopt;
    options_.report_progress(
        {scenario.name, RunProgress::Phase::verifying, checked_, plan.ops.size()});
  }
  return verdict_.get();
}

void Run::Core::check(const Scenario& scenario, const Plan& plan, Report& report) {
  if (options_.is_interrupted()) {
    report.interrupted = true;
    return;
  }
  ScenarioReport& result = report.scenarios.back();
  const std::optional<Verdict> verdict = verdict_on(scenario, plan);
  if (!verdict || !verdict->complete) {
    report.interrupted = true;
    report.notes.push_back(
        fmt::format("'{}': interrupted before all results were compared.", scenario.name));
  }
  if (!verdict) return;
  if (verdict->complete || !verdict->equal) result.verified = verdict->equal;
  result.mismatch = verdict->mismatch;
  const Comparison comparison = setting_.comparison();
  if (result.verified == true && comparison != Comparison::bits) {
    report.notes.push_back(fmt::format(
        "'{}': GPUs round in another order{}: results were compared within {:.2g} (float32) "
        "and {:g} (float64) of the largest value.",
        scenario.name,
        comparison == Comparison::nearness_tf32 ? ", and multiply float32 in TF32" : "",
        near_enough(comparison, DType::f32), near_enough(comparison, DType::f64)));
    const auto compared = static_cast<std::uint64_t>(
        std::count_if(plan.results.begin(), plan.results.end(), [&](const Plan::Result& r) {
          return plan.first_timed && r.replica.value >= plan.first_timed.value;
        }));
    if (compared < plan.timed_ops) {
      report.notes.push_back(fmt::format(
          "'{}': {} of {} results were not compared: to keep them all would have taken more than a "
          "quarter of a memory.",
          scenario.name, plan.timed_ops - compared, plan.timed_ops));
    }
  }
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

void Run::Core::save(Course& course, std::size_t index, Report& report) {
  if (!setting_.has_values()) return;
  const std::string& name = scenarios_[index].name;
  const std::size_t files = saves_[index].size();
  course.begin_saving();
  while (!course.unsaved().empty()) {
    options_.report_progress(
        {name, RunProgress::Phase::saving, files - course.unsaved().size(), files});
    if (options_.is_interrupted()) {
      report.interrupted = true;
      return;
    }
    const SavedFile& file = *course.unsaved().front();
    try {
      save_results(graph_, plans_[index], execution_->results(), file);
      course.on_saved();
    } catch (const Error& error) {
      if (course.is_to_go_on_after_loss()) throw;
      if (course.is_none_left()) throw course.none_left();
      course.on_save_failed(error);
    }
  }
  if (files > 0) note_saves(course, index, report);
}

void Run::Core::note_saves(const Course& course, std::size_t index, Report& report) const {
  const std::string& name = scenarios_[index].name;
  const std::size_t files = saves_[index].size();
  const std::vector<std::string>& failures = course.save_failures();
  const SavedFile& last = *saves_[index].back();
  if (failures.empty()) {
    report.notes.push_back(files == 1 ? fmt::format("'{}': saved '{}'.", name, last.path.string())
                                      : fmt::format("'{}': saved {} files, the last of them '{}'.",
                                                    name, files, last.path.string()));
    return;
  }
  ScenarioReport& result = report.scenarios.back();
  result.outcome = Outcome::failed;
  result.error = failures.front();
  if (files == 1) return;
  report.notes.push_back(
      fmt::format("'{}': saved {} of {} files.", name, files - failures.size(), files));
  std::set<std::string> others(failures.begin() + 1, failures.end());
  others.erase(failures.front());
  constexpr std::size_t notes_max = 3;
  std::size_t noted = 0;
  for (const std::string& failure : others) {
    if (noted++ == notes_max) break;
    report.notes.push_back(fmt::format("'{}': {}", name, failure));
  }
  if (others.size() <= notes_max) return;
  report.notes.push_back(
      fmt::format("'{}': more errors like these: {}.", name, others.size() - notes_max));
}

Run::Run(const Machine& machine, const Graph& graph, std::span<const Scenario> scenarios,
         RunOptions options)
    : core_(std::make_unique<Core>(machine, graph, scenarios, std::move(options))) {}

Run::~Run() = default;

Report Run::perform() {
  return core_->perform();
}

std::uint64_t Run::op_count() const {
  return core_->op_count();
}

const RunSetting& Run::setting() const {
  return core_->setting();
}

const Machine& Run::machine() const {
  return core_->machine();
}

}  // namespace troupe
