// Runs or simulates a graph while ops are appended to it: more ops than fit in memory at once.
#pragma once

#include "core/backend/mode.hpp"
#include "core/base/id.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/trace/report.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

struct StreamOptions {
  Mode mode = Mode::run;
  // Decides the order of concurrent messages under virtual time; results don't depend on it.
  std::uint64_t seed = 0;
  // Number of windows that may run at the same time; at least 1. With two, one runs while the next
  // is appended and planned; a few more keep devices busy if windows differ in size.
  std::size_t windows_in_flight = 3;
  // Keep all records for the report's timeline. Memory then grows with the length of the run.
  bool keep_timeline = false;
  // The run ends early when this becomes true. Any thread or signal handler may set it.
  const std::atomic<bool>* interrupted = nullptr;
};

// Runs the graph as a sequence of windows. A window contains the ops appended between two calls of
// submit(), and starts when it is submitted: its ops wait for their inputs, not for the window
// before. A completed window is added to the report and forgotten, by the graph, too. So the memory
// used depends on the windows in flight, not on the length of the run.
//
//   Stream stream(machine, graph, {});
//   while (more) {
//     … graph.append(…) …
//     if (!stream.submit(oldest_op_still_needed)) break;
//   }
//   ScenarioReport report = stream.finish("name");
//
// Results are not compared with a serial execution, and are freed when the run ends. A window must
// fit the memories of the machine; submit() doesn't check in advance whether it fits the host, and
// fails if it doesn't. If ops of more than 16 templates alternate, make each template once with
// Graph::add_template(): the graph recognizes only the templates used last. Call from one thread
// only, the one that appends to the graph.
class Stream {
 public:
  // Starts the actors. Machine and graph must outlive the stream; the graph must contain all its
  // ops still. Throws a usage Error as check_machine() does, or if this host lacks a core, a GPU or
  // a directory of the machine, or if no window may be in flight, and a run Error if the host can't
  // start enough threads.
  Stream(const Machine& machine, Graph& graph, StreamOptions options);
  // Interrupts the run if it isn't finished. Blocks until the actors have quit, and so until what
  // an interrupted run has left under way has ended.
  ~Stream();

  // Plans the ops appended since the last call as one window and starts it. Does nothing if none
  // were appended. Ops appended later must not read an op before `keep_from`; such ops are
  // forgotten when their window has completed. Blocks while `windows_in_flight` windows are
  // running, and while a memory has no room for the tensors of the window. Returns false if the
  // run has ended early (it failed or was interrupted); finish() returns the reason. Throws a usage
  // Error like make_plan(), or if a memory can't hold the window's tensors and those kept for it;
  // throws a run Error if the host can't. After an Error the run has failed, and only finish() may
  // be called; but where `keep_from` is beyond the graph, a usage Error changes nothing.
  bool submit(OpId keep_from);

  // Blocks until all windows have completed, or the run has failed or was interrupted. Ops that are
  // under way when it is interrupted have half a second to finish. Must be the last call, and be
  // made once only.
  ScenarioReport finish(const std::string& name);

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace troupe
