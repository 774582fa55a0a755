// The runtimes that task_bench compares: Troupe and its peers. Each executes the same pattern with
// the same task on the same number of threads, and has its own file.
#pragma once

#include "core/base/time.hpp"
#include "core/patterns/point_task.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::bench {

struct Workload {
  PointTask task;
  // Rows that Troupe appends at a time while earlier rows run. 0: Troupe builds the whole graph
  // first.
  std::uint32_t window = 0;
  std::vector<int> cores;  // one for each device or thread, by OS number
  std::string machine;     // simulated: path of its file; empty: devices on one memory
  bool is_placed = true;   // false: Troupe's planner chooses the devices
  // Whether each core belongs to a node of its own: a process on this host with one thread that
  // computes. Columns are divided among the nodes in blocks.
  bool on_nodes = false;
};

// Wall times of one run. `build` is 0 for a runtime that makes its graph during the run.
struct Times {
  Duration build{0};
  Duration plan{0};
  Duration run{0};
  Duration rest{0};  // starting threads, memory for outputs, reports; if timed
};

// Executes the workload once. Blocks until done. Starting threads and allocating outputs before the
// run are not timed if the runtime separates them from the run. Throws a run Error if a task fails,
// for example because it reads a wrong payload.
//
// On several nodes, each process of a peer that has a launcher executes its part. Their clocks
// start at a barrier.
using Measure = Times (*)(const Workload&);

// The words of the command that starts the processes of a peer, one on each of `nodes` nodes; the
// words of their own command line follow.
using Launcher = std::vector<std::string> (*)(std::size_t nodes);

struct Runtime {
  std::string_view name;
  std::string_view package = {};  // Debian packages of a peer; empty: part of this program
  std::string_view module = {};   // of a peer; empty: that of its name
  bool computes = true;           // false: a simulation, whose tasks do nothing
  bool serial = false;            // always one thread
  bool on_nodes = false;          // for several nodes only; else for one process only
  Measure measure = nullptr;      // null: in the runtime's module
  Launcher launcher = nullptr;    // null: one process
};

// All runtimes, in the order of measurement.
std::span<const Runtime> runtimes();

// Whether the runtime can be measured: it has no module, or its module was built.
bool is_there(const Runtime& runtime);
// Loads the module of a peer. Throws a run Error if that fails.
Measure load_measure(const Runtime& runtime);

Measure troupe_runtime();
Measure simulate_runtime();
Measure sequential_runtime();
Measure troupe_tcp_runtime();
Measure troupe_shared_memory_runtime();

}  // namespace troupe::bench

// The Measure that each peer's module exports, by this name. (`extern "C"` is for types of C.)
troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload) asm(
    "task_bench_measure");
