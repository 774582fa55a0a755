#include "actors/course.hpp"

#include "actors/course_notes.hpp"
#include "core/base/error.hpp"
#include "core/base/steady_now.hpp"
#include "core/base/units.hpp"
#include "core/plan/planner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Losses after none of which less is left to be made than after an earlier one: a node may end
// whenever it works on a certain op.
constexpr int losses_in_vain_max = 10;

std::size_t count(const std::vector<bool>& flags) {
  return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), true));
}

const char* them(const std::vector<bool>& lost) {
  return count(lost) == 1 ? "it" : "them";
}

std::string check_nodes(const std::vector<bool>& lost) {
  return fmt::format("see what has become of {0}, and start {0} again", them(lost));
}

}  // namespace

std::vector<OpId> ops_of(const Course::Files& files) {
  std::vector<OpId> ops;
  for (const SavedFile* file : files) ops.insert(ops.end(), file->ops.begin(), file->ops.end());
  std::sort(ops.begin(), ops.end());
  return ops;
}

void Course::begin(Report& report) {
  const Scenario& scenario = setting_.scenario;
  const RunOptions& options = setting_.options;
  do {
    const Loss loss = settle_losses();
    if (loss.what.empty()) continue;
    const PlanOptions planning = this->planning(loss.nodes);
    if (planning.lost_nodes.empty() || loss.is_by_cut) {
      report.notes.push_back(fmt::format("'{}': {}.", scenario.name, loss.what));
      continue;
    }
    try {
      plan_ = make_plan(setting_.graph, setting_.left, setting_.machine, scenario, planning);
    } catch (const Error& error) {
      throw run_error(
          fmt::format("{}, and without {}: {}", loss.what, them(loss.nodes), error.problem()),
          error.remedy());
    }
    report.notes.push_back(fmt::format("'{}': {}; planned without {}.{}", scenario.name, loss.what,
                                       them(loss.nodes), why_lost(loss.nodes)));
  } while (!prepare(UnitId{0}));
  if (!options.keeps_plan()) plan_.replicas = {};
}

bool Course::prepare(UnitId first) {
  try {
    setting_.execution.prepare(plan_, first, setting_.left.types(),
                               [this] { return !setting_.options.is_interrupted(); });
    return true;
  } catch (const Error&) {
    if (is_none_left()) throw none_left();
    if (!may_outlive_loss()) throw;
    return false;
  }
}

void Course::act() {
  const RunOptions& options = setting_.options;
  ActorRuntime& actors = setting_.execution.start(
      {.seed = options.seed,
       .interrupted = options.interrupted,
       .grace = options.grace,
       .pause_after = options.writes_checkpoints() ? pause_after_ : std::nullopt});
  std::uint64_t items = 0;
  for (Window& window : std::exchange(plan_.windows, {})) {
    items += window.items;
    actors.send(std::move(window));
  }
  actors.send_end();
  has_begun_ = true;
  actors.begin();
  while (!actors.is_over()) {
    actors.proceed(ActorRuntime::News::end);
    options.report_progress({.scenario = setting_.scenario.name,
                             .phase = RunProgress::Phase::running,
                             .done = actors.items_done(),
                             .total = items});
  }
  plan_.windows = actors.take_left();
  const RunResult before = std::exchange(result_, actors.take_result());
  result_.took += before.took;
  if (before.origin) result_.origin = before.origin;
  is_cut_ = result_.ending == Ending::failed;
  is_paused_ = result_.ending == Ending::interrupted && !options.is_interrupted();
  if (options.is_interrupted()) return;
  setting_.execution.stop();
  if (is_cut_ && is_none_left()) result_.failure = {.cause = none_left().what()};
  if (!is_cut_) return;
  const std::string why = setting_.execution.await_disconnection(result_.failure, plan_);
  if (!why.empty()) result_.failure = {.cause = why};
}

bool Course::has_failed_transfer() const {
  const UnitId failed = result_.failure.unit;
  return failed && plan_.units[failed.index()].transfer;
}

bool Course::is_to_go_on() const {
  return !setting_.options.is_interrupted() && (is_paused_ || is_cut_by_loss());
}

bool Course::is_cut_by_loss() const {
  if (!is_cut_) return false;
  // An op that fails would fail again.
  if (result_.failure.unit && !has_failed_transfer()) return false;
  return may_outlive_loss();
}

bool Course::is_to_go_on_after_loss() {
  is_cut_ = true;
  has_ended_ = is_to_go_on();
  return has_ended_;
}

// Of an attempt after which results were compared or saved: that is no time of the scenario.
void Course::leave_out_time_since_end() {
  if (!std::exchange(has_ended_, false) || setting_.execution.setting().has_virtual_time) return;
  Instant end = result_.origin.value_or(Instant::min());
  for (const Window& window : plan_.windows) {
    for (const auto& [resource, share] : window.shares) {
      for (const Share::Item& item : share.items) end = std::max(end, item.end);
    }
  }
  const Duration since = steady_now() - end;
  for (Window& window : plan_.windows) {
    for (auto& [resource, share] : window.shares) {
      for (Share::Item& item : share.items) {
        if (item.start != Share::never) item.start += since;
        if (item.end != Share::never) item.end += since;
      }
    }
  }
  if (result_.origin) *result_.origin += since;
}

void Course::go_on(Report& report) {
  const RunOptions& options = setting_.options;
  const Scenario& scenario = setting_.scenario;
  leave_out_time_since_end();
  const Goal goal = find_goal(setting_.graph, scenario, ops_of(unsaved_), !is_saving_);
  if (is_paused_) write_checkpoint(goal);
  if (options.is_interrupted()) return;
  is_paused_ = false;
  is_cut_ = true;  // until an attempt has begun
  std::vector<Window> windows;
  std::string why;
  try {
    const Loss loss = settle_losses();
    const auto begun = std::chrono::steady_clock::now();
    why = loss.what.empty() ? "what is left after a checkpoint can't be run: "
                            : loss.what + ", and what is missing can't be made: ";
    remains_ = find_remains(loss.nodes);
    const std::unordered_set<OpId> finished = finished_ops(plan_, remains_);
    add_unreported(loss.nodes, finished);
    windows = std::exchange(plan_.windows, {});
    const UnitId first = UnitId::at(plan_.units.size());
    plan_rest(setting_.left, setting_.machine, scenario, goal, plan_, remains_,
              planning(loss.nodes));
    for (Window& window : windows) window.is_replaced = true;
    const std::size_t planned = plan_.units.size() - first.index();
    if (planned < fewest_planned_) losses_in_vain_ = 0;
    fewest_planned_ = std::min(planned, fewest_planned_);
    if (!loss.what.empty()) {
      report.notes.push_back(fmt::format("'{}': {}. {}{}", scenario.name, loss.what,
                                         made_again(plan_, finished, unreported_),
                                         loss.is_by_cut ? "" : why_lost(loss.nodes)));
    }
    const bool is_ready = prepare(first);
    if (!loss.what.empty()) replanning_took_ += std::chrono::steady_clock::now() - begun;
    if (is_ready) act();
  } catch (const Error& error) {
    if (options.is_interrupted()) {
      result_.ending = Ending::interrupted;
    } else {
      result_.ending = Ending::failed;
      result_.failure = {.cause = (is_none_left() ? "" : why) + error.what()};
      is_cut_ = false;
    }
  }
  past_ = windows.size();
  std::move(plan_.windows.begin(), plan_.windows.end(), std::back_inserter(windows));
  plan_.windows = std::move(windows);
}

// The records of a share come with all of it: those of a lost node may never have come.
void Course::add_unreported(const std::vector<bool>& lost,
                            const std::unordered_set<OpId>& finished) {
  if (setting_.options.cluster == nullptr || count(lost) == 0) return;
  for (const Window& window : std::span(plan_.windows).subspan(past_)) {
    for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
      const Unit& unit = plan_.units[u];
      const bool is_at_lost = lost[resource_node(setting_.machine, unit.ref.resource).index()];
      if (is_at_lost && unit.makes_result && !finished.contains(unit.op)) {
        unreported_.insert(unit.op);
      }
    }
  }
}

Course::Loss Course::settle_losses() {
  const RunOptions& options = setting_.options;
  const bool is_any = count_lost() > lost_;
  const std::size_t cuts = setting_.execution.cuts();
  const bool is_cut = std::exchange(cuts_, cuts) != cuts;
  Loss cut;
  if (is_cut) {
    cut = {.nodes = setting_.execution.lost_nodes(),
           .what = setting_.execution.last_cut() + "; they were connected anew",
           .is_by_cut = true};
  }
  if (is_any || is_cut) {  // more is to be made then, in attempts as long as at first
    fewest_left_ = std::numeric_limits<std::size_t>::max();
    pause_after_ = options.checkpoint_interval;
  }
  if (options.on_loss == OnLoss::wait) {
    Replaced replaced = setting_.execution.replace_lost_nodes(options.wait_max);
    if (replaced.nodes.empty()) return cut;
    const std::string lost = lost_names(replaced.nodes);
    if (++losses_in_vain_ > losses_in_vain_max) {
      throw run_error(fmt::format("{}, and nodes that were lost {} times have kept the run from "
                                  "getting any further",
                                  lost, losses_in_vain_),
                      "see why they end");
    }
    return {
        .nodes = std::move(replaced.nodes),
        .what = fmt::format("{}, and replaced after {}", lost, format_duration(replaced.waited))};
  }
  if (!is_any && is_cut) return cut;
  Loss loss{.nodes = setting_.execution.lost_nodes(), .what = {}};
  if (!is_any) return loss;
  loss.what = lost_names(loss.nodes);
  if (!options.outlives_losses()) throw run_error(loss.what, check_nodes(loss.nodes));
  if (is_none_left()) throw none_left();
  lost_ = count(loss.nodes);
  return loss;
}

void Course::write_checkpoint(const Goal& goal) {
  const RunOptions& options = setting_.options;
  const auto begun = std::chrono::steady_clock::now();
  const Remains remains = find_remains(setting_.execution.lost_nodes());
  const Rest rest = find_rest(setting_.left, goal, existing_ops(setting_.left, plan_, remains));
  std::size_t ops_left = 0;
  for (const WindowOps& window : rest.windows) ops_left += window.ops.size();
  // A transfer over several links begins anew, maybe with the op that has made its tensor: an
  // attempt must not be too short for all of it.
  if (ops_left >= fewest_left_ && count_lost() == lost_) {
    *pause_after_ *= 2;
    return;
  }
  fewest_left_ = ops_left;
  pause_after_ = options.checkpoint_interval;
  if (ops_left > left_by_last_) return;  // nodes were lost or cut off since
  try {
    const std::vector<ReplicaId> replicas = needed_replicas(setting_.left, rest, plan_, remains);
    std::vector<OpId> ops;
    ops.reserve(replicas.size());
    for (const ReplicaId replica : replicas) ops.push_back(plan_.units[replica.index()].op);
    Results& results = setting_.execution.results(plan_, replicas, setting_.left.types());
    checkpoints_.bytes =
        options.checkpoints->write(setting_.graph, position_, ops, [&](std::size_t i) {
          options.report_progress({.scenario = setting_.scenario.name,
                                   .phase = RunProgress::Phase::checkpointing,
                                   .done = i,
                                   .total = ops.size()});
          if (options.is_interrupted()) throw run_error("the run was interrupted");
          return results.values(replicas[i]);
        });
    ++checkpoints_.written;
    left_by_last_ = ops_left;
  } catch (const Error& error) {
    ++checkpoints_.failed;
    const std::string before = std::exchange(checkpoints_.problem, error.what());
    if (checkpoints_.problem != before && !options.is_interrupted()) {
      options.tell(fmt::format("scenario '{}': a checkpoint could not be written: {}",
                               setting_.scenario.name, checkpoints_.problem));
    }
  }
  checkpoints_.took += std::chrono::steady_clock::now() - begun;
}

std::string Course::checkpoint_note() const {
  const Checkpoints& c = checkpoints_;
  std::string note;
  if (c.written > 0) {
    note = fmt::format("{} took {}; the last one has {}.", format_count(c.written, "checkpoint"),
                       format_duration(c.took), format_bytes(c.bytes));
  }
  if (c.failed > 0) {
    note += fmt::format("{}{} could not be written: {}.", note.empty() ? "" : " ",
                        format_count(c.failed, "checkpoint"), c.problem);
  }
  return note;
}

void Course::summarize(Report& report) {
  const RunOptions& options = setting_.options;
  const std::string& name = setting_.scenario.name;
  const std::string left = left_behind(result_, options.grace, options.cluster != nullptr,
                                       setting_.graph, setting_.machine, plan_);
  if (!left.empty()) report.notes.push_back(fmt::format("'{}': {}", name, left));
  if (replanning_took_ > Duration{0}) {
    std::string cost = fmt::format("'{}': ", name);
    if (!setting_.execution.setting().has_virtual_time) {
      cost +=
          fmt::format("planning and preparing anew took {}; ", format_duration(replanning_took_));
    }
    const TimeAgain again = time_made_again(plan_, plan_.windows, unreported_);
    cost += "what was made again kept the devices busy for " + format_duration(again.known);
    if (again.possible > Duration{0}) {
      cost += fmt::format(", or up to {}, with what lost nodes may have finished",
                          format_duration(again.known + again.possible));
    }
    report.notes.push_back(cost + ".");
  }
  if (options.is_interrupted() && is_cut_by_loss()) {  // it would have gone on
    result_.ending = Ending::interrupted;
    result_.failure = {};
  }
  if (options.cluster != nullptr && count_lost() > 0) {
    unreported_at_end_ = unreported_ops(plan_, setting_.machine, setting_.execution.lost_nodes());
  }
  ScenarioReport& result = report.scenarios.back();
  const bool is_resumed = &setting_.left != &setting_.graph;
  result = troupe::summarize(setting_.graph, setting_.machine, plan_, name, result_,
                             options.keep_timeline,
                             is_resumed ? options.resumed->ops() : std::vector<OpId>{});
  // The interrupt may have come when the last item was done, but not yet reported.
  if (result.outcome == Outcome::interrupted && result.finished == result.planned && !is_cut_) {
    result.outcome = Outcome::done;
  }
}

Remains Course::find_remains(const std::vector<bool>& lost) const {
  return troupe::find_remains(setting_.machine, plan_, std::span(plan_.windows).subspan(past_),
                              remains_.is_made, lost);
}

PlanOptions Course::planning(const std::vector<bool>& lost) const {
  PlanOptions options = setting_.planning;
  options.saved = ops_of(unsaved_);
  if (setting_.options.on_loss != OnLoss::wait) {
    options.lost_nodes = lost;
  } else {
    options.stays_where_it_was = true;
  }
  return options;
}

void Course::note_last_losses(Report& report) const {
  const ScenarioReport& result = report.scenarios.back();
  if (count_lost() == lost_) return;
  const std::vector<bool> lost = setting_.execution.lost_nodes();
  std::string note = fmt::format("'{}': {}", result.name, lost_names(lost));
  if (result.outcome == Outcome::done) {
    note += ", when everything had been made";
  } else if (count(lost) == lost.size()) {
    note += ", and no node is left";
  }
  note += ".";
  if (result.outcome != Outcome::done && unreported_at_end_ > 0) {
    note += fmt::format(" Lost nodes may have finished up to {} more, and had not reported it.",
                        format_count(unreported_at_end_, "op"));
  }
  report.notes.push_back(note + why_lost(lost));
}

std::size_t Course::count_lost() const {
  return count(setting_.execution.lost_nodes());
}

bool Course::may_outlive_loss() const {
  const RunOptions& options = setting_.options;
  const std::size_t lost = count_lost();
  const bool has_happened = lost > lost_ || setting_.execution.cuts() > cuts_;
  if (!options.outlives_losses() || !has_happened) return false;
  return options.on_loss == OnLoss::wait || lost < setting_.machine.nodes.size();
}

bool Course::is_none_left() const {
  const RunOptions& options = setting_.options;
  return options.outlives_losses() && options.on_loss != OnLoss::wait && count_lost() > lost_ &&
         count_lost() == setting_.machine.nodes.size();
}

Error Course::none_left() const {
  const std::vector<bool> lost = setting_.execution.lost_nodes();
  return run_error(lost_names(lost) + ", and no node is left",
                   check_nodes(lost) + "; if nothing has, see to the network of this host");
}

std::string Course::lost_names(const std::vector<bool>& lost) const {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < lost.size(); ++n) {
    if (lost[n]) names.push_back(setting_.machine.nodes[n]);
  }
  return fmt::format("{} {} lost", fmt::join(names, ", "), names.size() == 1 ? "was" : "were");
}

// Sentences, each with a space in front.
std::string Course::why_lost(const std::vector<bool>& lost) const {
  std::string all;
  for (std::size_t n = 0; n < lost.size(); ++n) {
    if (!lost[n]) continue;
    const std::string why = setting_.execution.why_lost(NodeId::at(n));
    if (!why.empty()) all += fmt::format(" Of {}: {}.", setting_.machine.nodes[n], why);
  }
  return all;
}

}  // namespace troupe
