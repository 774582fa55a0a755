// How scenarios are run, and what is said while they are.
#pragma once

#include "actors/interruption.hpp"
#include "actors/node_loss.hpp"
#include "core/backend/mode.hpp"
#include "core/base/time.hpp"
#include "core/graph/saved_file.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class CheckpointFolder;
class Cluster;
struct Checkpoint;

struct RunProgress {
  // Of one scenario; each begins when the previous one has ended.
  enum class Phase : std::uint8_t {
    reserving,  // allocating buffers; `done` and `total` are 0
    running,
    verifying,
    saving,         // `done` and `total` are files
    checkpointing,  // likewise tensors
  };
  const std::string& scenario;
  Phase phase = Phase::running;
  std::uint64_t done = 0;  // ops and transfers, unless the phase says otherwise
  std::uint64_t total = 0;
};

// What becomes of a run on several nodes when one of them is lost.
enum class OnLoss : std::uint8_t {
  fail,    // it ends
  replan,  // what is still wanted is planned anew for the others, from the tensors that remain
  wait,    // the same, for all of them, when another node has taken the place of the lost one
};

struct RunOptions {
  Mode mode = Mode::run;
  // Decides the order of concurrent messages under virtual time; results don't depend on it.
  std::uint64_t seed = 0;
  // Compare results with a serial execution if the mode computes values.
  bool verify = true;
  // The run ends early when this becomes true, and must then stay so; the report contains what has
  // finished. Any thread or signal handler may set it.
  const std::atomic<bool>* interrupted = nullptr;
  // How long an interrupted run waits for the kernels and transfers that are under way.
  Duration grace = interrupt_grace;
  // The host's memory that tensors may take if the mode computes values. None: the memory available
  // when the Run is made, minus a reserve.
  std::optional<std::uint64_t> ram_bytes = {};
  // Whether reports get a timeline. It takes about 50 bytes for each op and transfer.
  bool keep_timeline = true;
  // Of `saves`, those that no scenario makes all results of are left out, and named in a note; else
  // a usage Error.
  bool may_leave_out_saves = false;
  // Each is written after the first scenario that makes all its results, once they have been
  // compared; not if they differ, and not without values. Must outlive the Run.
  std::span<const SavedFile> saves = {};
  // The nodes whose devices and links a real run uses, one for each node of the machine. Null: this
  // process. Must outlive the Run.
  Cluster* cluster = nullptr;
  OnLoss on_loss = OnLoss::fail;
  // How long to wait for a node that takes the place of a lost one.
  Duration wait_max = std::chrono::minutes(10);
  // Of nodes of a simulation, in each scenario, by time.
  std::vector<NodeLoss> losses = {};
  // For a mode that computes values. Null: no checkpoints. Must outlive the Run, which removes the
  // checkpoints when all is done.
  CheckpointFolder* checkpoints = nullptr;
  // The time of a scenario from one checkpoint to the next. None: none are written.
  std::optional<Duration> checkpoint_interval = {};
  // From which the run goes on; it must be one of `checkpoints`, for the same scenarios.
  const Checkpoint* resumed = nullptr;
  // Called on the thread in perform(), about 20 times a second.
  std::function<void(const RunProgress&)> on_progress = {};
  // Called on the same thread with what a user may want to know before the run has ended. It is in
  // the notes of the report, too.
  std::function<void(const std::string&)> on_news = {};

  bool writes_checkpoints() const { return checkpoints != nullptr && checkpoint_interval; }
  // A plan must be kept while it runs, since the rest of it may be planned anew.
  bool keeps_plan() const { return outlives_losses() || writes_checkpoints(); }
  bool is_interrupted() const { return interrupted != nullptr && interrupted->load(); }
  // Nodes may be lost, and the run then goes on.
  bool outlives_losses() const {
    return on_loss != OnLoss::fail && (cluster != nullptr || !losses.empty());
  }
  void report_progress(const RunProgress& progress) const {
    if (on_progress) on_progress(progress);
  }
  void tell(const std::string& news) const {
    if (on_news) on_news(news);
  }
};

}  // namespace troupe
