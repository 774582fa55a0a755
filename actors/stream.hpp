// Runs or simulates a graph while it is appended: more ops than would ever fit in memory at once.
#pragma once

#include "actors/actor_runtime.hpp"
#include "core/backend/memory_store.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/planner.hpp"
#include "core/result/summary.hpp"
#include "core/trace/report.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace troupe {

struct StreamOptions {
  Mode mode = Mode::run;
  // Decides the order of concurrent messages under virtual time; results don't depend on it.
  std::uint64_t seed = 0;
  // Windows that may be handed out and not done. With two, one runs while the next is appended and
  // planned; a few more keep devices busy where windows differ.
  std::size_t windows_in_flight = 3;
  // Keep when everything ran, for the report's timeline: memory then grows with the run.
  bool keep_timeline = false;
  // Set from anywhere (a signal handler) to end the run.
  const std::atomic<bool>* interrupted = nullptr;
};

// A run of windows: the ops appended to the graph between two calls of submit(). A window starts as
// soon as it is submitted: its ops wait for what they read and not for the window before. What is
// done is summed up and forgotten, by the graph as well, so that memory depends on what is in
// flight and not on how long the run is.
//
//   Stream stream(machine, graph, {});
//   while (more) {
//     … graph.append(…) …
//     if (!stream.submit(oldest_op_still_needed)) break;
//   }
//   ScenarioReport report = stream.finish("name");
//
// Results are not compared with a serial execution, and are gone when the run is over. What is
// submitted is compared with the machine's memories, and not with what the host has: a window that
// the host can't hold fails. Ops of more than 16 templates in turn are best appended with
// Graph::add_template's, each made once: the graph finds only the latest again. For use by one
// thread, the one that appends to the graph.
class Stream {
 public:
  // Starts the actors. Machine and graph must outlive it; the graph must not have forgotten
  // anything. Throws a usage Error where a device or a link has no backend for the mode, and a run
  // Error where the host hasn't enough threads.
  Stream(const Machine& machine, Graph& graph, StreamOptions options);
  // Blocks until the actors are gone; a run that isn't finished is interrupted.
  ~Stream();

  // Plans what was appended since the last call as one window and hands it out; nothing where
  // nothing was appended. Ops before `keep_from` will not be read by those appended later: they are
  // forgotten when their window is done. Blocks while as many windows are in flight as may be, and
  // while a memory has no room for what the window makes. False where the run has ended early (it
  // failed or was interrupted): finish() says why. Throws a usage Error, as planning a scenario
  // does, or where a memory can't hold what the window makes and what must be kept for it, and a
  // run Error where the host can't; the run can only be finished then, and has failed.
  bool submit(OpId keep_from);

  // Blocks until all is done, or until the run has failed or was interrupted. Call it last, and
  // once.
  ScenarioReport finish(const std::string& name);

 private:
  struct InFlight {
    Window window;     // without its shares
    OpId end;          // of its ops
    ReplicaId oldest;  // that it makes or reads
    std::vector<PlannedWindow::Hold> holds;
  };

  bool plan_and_send(OpId keep_from);
  void note(const PlannedWindow& planned);
  void send_window(PlannedWindow planned);
  // Lets the actors act until a window is done or the run is over.
  void await_window();
  void check_interrupt();
  void retire(ResourceShares shares);
  void release_unread();
  void forget();

  Graph& graph_;
  const StreamOptions options_;
  const RunSetting setting_;
  WindowPlanner planner_;
  MemoryStore store_;
  Summary summary_;
  ActorRuntime runtime_;                    // after all that its actors use
  std::deque<InFlight> in_flight_;          // the last one may wait for room
  std::vector<PlannedWindow::Hold> holds_;  // of windows that are done
  OpId keep_from_ = OpId::at(0);
  OpId submitted_ = OpId::at(0);  // ops before it
  OpId done_ = OpId::at(0);       // ops before it
  std::size_t loaded_ = 0;        // classes whose kernels are
  ReplicaId installed_{0};        // the store has those before it
  bool stop_requested_ = false;
  std::string refusal_;  // of a window that submit() threw for
};

}  // namespace troupe
