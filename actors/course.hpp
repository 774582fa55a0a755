// The course of one scenario: an attempt, and one more for each loss of nodes and each checkpoint.
#pragma once

#include "actors/execution.hpp"
#include "actors/run_options.hpp"
#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/saved_file.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_options.hpp"
#include "core/plan/rest.hpp"
#include "core/result/checkpoint.hpp"
#include "core/result/summary.hpp"
#include "core/trace/report.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace troupe {

// What a course goes by, all of which must outlive it.
struct CourseSetting {
  const Machine& machine;
  const Graph& graph;
  // What is planned: `graph`, or the one in which tensors of a checkpoint are loaded.
  const Graph& left;
  const Scenario& scenario;
  const RunOptions& options;
  const PlanOptions& planning;
  Execution& execution;
};

// For use by one thread.
class Course {
 public:
  using Files = std::vector<const SavedFile*>;

  // `plan` is the scenario's, and grows by what is planned anew; it must outlive the course.
  // `files`: to be saved when the scenario is done, those before `position` excepted.
  Course(const CourseSetting& setting, Plan& plan, const Files& files, const RunPosition& position)
      : setting_(setting),
        plan_(plan),
        unsaved_(files),
        cuts_(setting.execution.cuts()),
        position_(position),
        pause_after_(setting.options.checkpoint_interval) {}

  // Readies memory, and makes up for nodes that were lost before. Blocks. Throws an Error if there
  // isn't enough, or no node to go on with.
  void begin(Report& report);
  // Runs the plan's windows. Blocks until they have completed, or the attempt has ended early.
  void act();
  // The actors were set up.
  bool has_begun() const { return has_begun_; }
  // Whether the attempt has ended for a checkpoint, or for a loss of nodes that can be made up for.
  bool is_to_go_on() const;
  // The same when results couldn't be read: a node may be lost with them.
  bool is_to_go_on_after_loss();
  // Nodes were lost, and the run would have gone on if they had not been the last ones.
  bool is_none_left() const;
  Error none_left() const;
  // Writes the checkpoint if it is time for it, waits for nodes if it is to, and plans and runs
  // what is missing. Blocks.
  void go_on(Report& report);
  // What became of the checkpoints, as a note; empty if there were none.
  std::string checkpoint_note() const;
  // What all attempts have done, for the last scenario of `report`.
  void summarize(Report& report);
  // Nodes that were lost when all was done, which therefore cost nothing, get a note; so do all of
  // them if no node is left.
  void note_last_losses(Report& report) const;

  // The results are right, as far as that is to be seen: what follows needs no others than the
  // files.
  void begin_saving() { is_saving_ = true; }
  // Files still to be saved. What is planned anew makes no results for others.
  const Files& unsaved() const { return unsaved_; }
  // The first of them was written.
  void on_saved() {
    unsaved_.erase(unsaved_.begin());
    if (save_failures_.empty()) ++position_.saved;
  }
  // It couldn't be; the others are to be tried. A run that is resumed begins with this one.
  void on_save_failed(const Error& error) {
    unsaved_.erase(unsaved_.begin());
    save_failures_.emplace_back(error.what());
  }
  const std::vector<std::string>& save_failures() const { return save_failures_; }

 private:
  struct Loss {
    std::vector<bool> nodes;  // by NodeId: what they had is gone; they may be there again
    std::string what;         // "n1 was lost"; empty if nothing has happened since the last time
    bool is_by_cut = false;   // none was: two have been cut off from each other
  };

  void leave_out_time_since_end();
  // Readies memory for units of the plan. False: a node was lost meanwhile, and the run can go on.
  bool prepare(UnitId first);
  // Decides which nodes the rest is for: those that are left, or, if the run waits for others in
  // the place of lost ones, all. Blocks. Throws an Error if it is to fail.
  Loss settle_losses();
  // Adds what lost nodes may have finished in the last attempt, and had not reported. `finished`:
  // ops that are known to have.
  void add_unreported(const std::vector<bool>& lost, const std::unordered_set<OpId>& finished);
  // Writes none where nothing has been made since the last one, but makes the next attempt longer.
  void write_checkpoint(const Goal& goal);
  PlanOptions planning(const std::vector<bool>& lost) const;
  Remains find_remains(const std::vector<bool>& lost) const;
  std::size_t count_lost() const;
  // Nodes were lost that the plan is for, or cut off from each other, and the run can go on.
  bool may_outlive_loss() const;
  // Something is missing for such a loss.
  bool is_cut_by_loss() const;
  // The failure that ended the last attempt is one of a transfer.
  bool has_failed_transfer() const;
  std::string lost_names(const std::vector<bool>& lost) const;
  std::string why_lost(const std::vector<bool>& lost) const;

  const CourseSetting setting_;
  Plan& plan_;
  Files unsaved_;
  std::vector<std::string> save_failures_;
  bool has_begun_ = false;
  std::size_t lost_ = 0;  // nodes that it does without
  std::size_t cuts_;      // of the cluster, after which it has gone on
  std::size_t fewest_planned_ = std::numeric_limits<std::size_t>::max();  // units, after a loss
  Duration replanning_took_{0};  // after losses, until actors could begin
  int losses_in_vain_ = 0;       // since then
  RunResult result_;             // of all attempts
  bool is_cut_ = false;          // something is missing, maybe for a lost node
  bool has_ended_ = false;       // all was done, before a loss
  bool is_saving_ = false;
  bool is_paused_ = false;  // something is missing, for a checkpoint is to be written
  std::size_t past_ = 0;    // windows of earlier attempts, in the plan
  Remains remains_;         // of them
  std::unordered_set<OpId> unreported_;
  std::size_t unreported_at_end_ = 0;  // ops of the last attempt, by nodes that are lost

  struct Checkpoints {
    std::uint64_t written = 0;
    std::uint64_t bytes = 0;  // of the last one
    Duration took{0};
    std::uint64_t failed = 0;
    std::string problem;  // of the last one that failed
  };
  RunPosition position_;
  std::optional<Duration> pause_after_;
  // Ops to be made at a pause, since the last loss.
  std::size_t fewest_left_ = std::numeric_limits<std::size_t>::max();
  // Those of the last checkpoint. None that leaves more takes its place.
  std::size_t left_by_last_ = std::numeric_limits<std::size_t>::max();
  Checkpoints checkpoints_;
};

// All that the files take, sorted.
std::vector<OpId> ops_of(const Course::Files& files);

}  // namespace troupe
