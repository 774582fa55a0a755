// The runtimes that task_bench compares: Troupe and its peers. Each executes the same pattern with
// the same task on the same number of threads, and has its own file.
#pragma once

#include "core/base/time.hpp"
#include "core/patterns/point_task.hpp"

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
using Measure = Times (*)(const Workload&);

struct Runtime {
  std::string_view name;
  std::string_view summary;
  std::string_view package = {};  // Debian package of a peer; empty: part of this program
  bool computes = true;           // false: a simulation, whose tasks do nothing
  bool serial = false;            // always one thread
  Measure measure = nullptr;      // null: in the runtime's module
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

}  // namespace troupe::bench

// The Measure that each peer's module exports.
extern "C" troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload);
